"""glmnet, through R and through python-glmnet.

R runs in a process that stays: data go over once a case, and R's own clocks time the fits.  glmnet's authors advise a
path rather than a single λ: a single problem is reached in ten steps, without l1 from a λ that is ``FIRST_RIDGE`` times
as large.  Deviance-based early stops are switched off, because they would end before λ.  Its multinomial objective,
"ungrouped" and without intercept, is ours divided by n.
"""

from __future__ import annotations

import select
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from race.class_tasks import KINDS as CLASSES
from race.peers.base import UNLIMITED, Answer, Failed, Peer

FIRST_RIDGE = 1e3
FAMILIES = {"logistic": "binomial", **dict.fromkeys(CLASSES, "multinomial")}


class Glmnet(Peer):
    kinds = ("lasso", "enet", "logistic", "path")
    factor, floor = 10.0, 1e-26
    steps = 10

    def start(self, task, target):
        """Its tolerance bounds squares of changes."""
        return 10.0 * target if task.l2 else target**2

    def _unit(self, task):
        """glmnet divides y, and with it l1 but not l2, by its root mean square: handed over so, it changes nothing."""
        return 1.0 if task.kind in FAMILIES else float(np.sqrt(np.mean(task.y**2)))

    def _path(self, task):
        """The λs in its terms, and the share of l1 in them."""
        unit = self._unit(task)
        total, ratio = task.l1 / unit + task.l2, task.l1 / (task.l1 + unit * task.l2)
        top = task.part if task.l1 else FIRST_RIDGE
        path = task.strengths / unit if task.kind == "path" else np.geomspace(top, 1.0, self.steps) * total
        return path / len(task.y), ratio


class GlmnetPython(Glmnet):
    name, package = "glmnet (Python)", "glmnet"

    def fit(self, task, tol, threads=1):
        import glmnet

        path, ratio = self._path(task)
        model = glmnet.LogitNet if task.kind == "logistic" else glmnet.ElasticNet
        settings = {"standardize": False, "fit_intercept": False, "n_splits": 0, "max_iter": UNLIMITED}
        model = model(alpha=ratio, lambda_path=path, tol=tol, **settings).fit(task.X, task.y / self._unit(task))
        coefs = self._unit(task) * model.coef_path_.reshape(task.X.shape[1], -1)
        return Answer(np.asfortranarray(coefs) if task.kind == "path" else coefs[:, -1].copy())


class GlmnetR(Glmnet):
    name = package = "glmnet (R)"
    kinds = (*Glmnet.kinds, *CLASSES)
    forked = False

    def __init__(self):
        self.process, self.loaded, self.folder = None, None, None

    def version(self):
        if shutil.which("Rscript") is None:
            raise ImportError("Rscript is not installed")
        return self._started()

    def fit(self, task, tol, threads=1):
        if self.process is None:
            self._started()
        self._load(task)
        path, ratio = self._path(task)
        path.tofile(self.folder / "lambda")
        family = FAMILIES.get(task.kind, "gaussian")
        _, seconds, columns = self._ask("fit", family, ratio, tol, len(path), self.clock, limit=self.limit)
        coefs = self._unit(task) * np.fromfile(self.folder / "beta").reshape((task.X.shape[1], int(columns)), order="F")
        is_whole = task.kind == "path" or task.kind in CLASSES
        return Answer(coefs if is_whole else coefs[:, -1], seconds=float(seconds))

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.process, self.loaded, self.folder = None, None, None

    def _started(self):
        self.close()
        self.folder = Path(tempfile.mkdtemp())
        script = Path(__file__).with_name("glmnet.R")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen(["Rscript", "--vanilla", str(script)], bufsize=1, **pipes)
        words = self.process.stdout.readline().split()
        if not words:
            self.close()
            raise ImportError("R has no package glmnet")
        return words[1]

    def _load(self, task):
        wanted = (task.X, FAMILIES.get(task.kind))
        if self.loaded is not None and self.loaded[0] is wanted[0] and self.loaded[1] == wanted[1]:
            return
        X, sparse = task.X, sp.issparse(task.X)
        (task.y / self._unit(task)).tofile(self.folder / "y")
        if sparse:
            X.indices.astype(np.int32).tofile(self.folder / "indices")
            X.indptr.astype(np.int32).tofile(self.folder / "indptr")
        (X.data if sparse else X.T).tofile(self.folder / "data")
        self._ask("load", self.folder, *X.shape, X.nnz if sparse else 0)
        self.loaded = wanted

    def _ask(self, *words, limit=None):
        """Send a command and wait for its answer, at most so many seconds."""
        try:
            self.process.stdin.write("\t".join(str(word) for word in words) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], limit)
            answer = self.process.stdout.readline().split() if ready else []
        except BrokenPipeError:
            answer = []
        if not answer:
            self.close()
            raise Failed(f"R gave no answer to {words[0]}")
        return answer
