"""Generated data: the paper's synthetic regression, documents that look like text, and dense columns."""

import numpy as np
from benchopt import BaseDataset
from scipy import sparse

from ascd.reproduction.datasets import make_synthetic, make_text_like


class Dataset(BaseDataset):
    name = "synthetic"
    parameters = {"kind": ["paper", "text", "dense"], "n_samples": [200], "n_features": [1000]}  # noqa: RUF012

    def get_data(self):
        if self.kind == "dense":
            rng = np.random.default_rng(0)
            X = np.asfortranarray(rng.standard_normal((self.n_samples, self.n_features)))
            return {"X": X, "y": X[:, :10].sum(axis=1) + rng.standard_normal(self.n_samples)}
        make = make_synthetic if self.kind == "paper" else make_text_like
        data = make(self.n_samples, self.n_features, rng=0)
        parts = (data.A.data, data.A.indices.astype(np.int32), data.A.indptr.astype(np.int32))
        return {"X": sparse.csc_matrix(parts, shape=data.A.shape), "y": data.b}  # scikit-learn wants 32-bit indices
