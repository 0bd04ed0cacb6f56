"""Data on a disk with which something is wrong: errors that name the file and the column."""

from __future__ import annotations

import numpy as np
import pytest
from test_on_disk import A, B, npy

import ascd
from ascd.files import open_data

pytestmark = pytest.mark.usefixtures("plain_python")


def write_parquet(path, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    pq.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_refuse_what_is_not_finite_in_columns_that_they_read(bad, tmp_path):
    given = np.asfortranarray(A)
    given[4, 7], given[5, 1] = bad, bad
    np.save(tmp_path / "bad.npy", given)
    data, good = open_data(tmp_path / "bad.npy"), open_data(npy(tmp_path, "F"))
    for model in (ascd.Lasso(0.3).fit(good, B), ascd.LogisticRegression(l1_ratio=1.0, C=0.3).fit(good, B > 0.0)):
        with pytest.raises(
            ValueError, match=rf"X must be finite; .* the first is {bad}; the first column with such is 1"
        ):
            model.predict(data)
        model.coef_[..., [1, 7]] = 0.0  # now none of these columns is read
        assert np.isfinite(model.decision_function(data) if hasattr(model, "classes_") else model.predict(data)).all()
