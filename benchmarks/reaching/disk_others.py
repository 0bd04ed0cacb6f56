"""The same file by others: a Lasso without intercept, in processes that may take a third of the file's size.

Each fits the memory-mapped file, ascd the file itself.  What a process may take beside the map (its data segment, an
rlimit) is set after it has loaded its library; what it took is its anonymous memory.  Who fails is listed with its own
words.  Gaps are computed from the coefficients, in blocks, once the limit is gone.

    pip install adelie             or build it: wheels are not there for every machine
    install.packages("biglasso")   in R
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import ascd
from reaching.timing import show

ALLOWED, GAP, PARTS = 1 / 3, 1e-6, (20, 100)
#: Characters of an error that are kept; columns that a gap is computed from at a time.
WORDS, BLOCK = 160, 400
CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from reaching.disk_others import fit_alone
fit_alone(*sys.argv[2:])
"""


def by_ascd(path, b, strength, allowed):
    problem = ascd.Problem(ascd.open_data(path, memory=allowed / 2), b, penalty=ascd.L1(strength))
    return ascd.solve(problem, tol=GAP).x


def by_scikit_learn(path, b, strength, allowed, mode="r", **how):
    from sklearn.linear_model import Lasso

    # its tolerance is a share of ‖b‖², twice F at zero
    model = Lasso(alpha=strength / b.size, fit_intercept=False, tol=0.5 * GAP, max_iter=100_000, **how)
    return model.fit(np.load(path, mmap_mode=mode), b).coef_


def by_scikit_learn_in_place(path, b, strength, allowed):
    # without an intercept it writes nothing, but copies what it could not write to
    return by_scikit_learn(path, b, strength, allowed, mode="r+", copy_X=False)


def by_adelie(path, b, strength, allowed):
    import adelie as ad

    path_to = np.geomspace(100.0 * strength, strength, 20) / b.size
    how = {"lmda_path": path_to, "tol": GAP**2, "intercept": False, "early_exit": False, "progress_bar": False}
    state = ad.grpnet(ad.matrix.dense(np.load(path, mmap_mode="r")), ad.glm.gaussian(b), **how)
    return state.betas.toarray()[-1]


FITS = {
    "ascd": by_ascd,
    "scikit-learn, Lasso": by_scikit_learn,
    "scikit-learn, copy_X=False, map r+": by_scikit_learn_in_place,
    "adelie": by_adelie,
}


def run(options, path, size, forget):
    """A row for each; ``forget`` drops what the system keeps of the file."""
    rows = []
    for part in PARTS:
        for name in FITS:
            forget(path)
            rows.append(row(options, name, path, size, part))
    rows.append(["biglasso (R)", *[""] * 3, words_of_r()])
    head = ["by", "λ_max", "seconds", "memory taken", "gap / F(0), or its own words"]
    show(f"Disk, others: no intercept, {ALLOWED:.2f} of {size / 1e9:.2f} GB beside the map", head, rows)


def row(options, name, path, size, part):
    command = [sys.executable, "-c", CHILD, str(options.here), name, str(path), str(size), str(part)]
    label = [name, f"/{part}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return [*label, "", "", f"no answer within {options.limit:g} seconds"]
    if done.returncode:
        words = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        return [*label, "", "", words[-1][:WORDS]]
    seconds, memory, gap = json.loads(done.stdout)
    return [*label, f"{seconds:.2f}", f"{memory:.3f}", f"{gap:.1e}"]


def words_of_r():
    """Why biglasso does not take part: it is not there, or solves another problem."""
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    done = subprocess.run(["Rscript", "-e", "library(biglasso)"], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().replace("\n", " ")[:WORDS]
    return "installed; not raced: it reads files of bigmemory, and standardises every column"


def fit_alone(name, path, size, part):
    """In a process of its own: seconds, anonymous memory as a share of the file, the gap."""
    b, size = np.load(f"{path}.target.npy"), float(size)
    strength = float(np.load(f"{path}.top.npy")) / float(part)
    warm_up(FITS[name])
    before, (soft, hard) = in_kilobytes("VmData"), resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(before * 1024 + ALLOWED * size), hard))
    with Anonymous() as memory:
        start = time.perf_counter()
        x = FITS[name](path, b, strength, ALLOWED * size)
        seconds = time.perf_counter() - start
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    print(json.dumps([seconds, 1024 * memory.grown / size, gap_at(path, b, strength, x)]))


def warm_up(fit):
    """A fit of a few numbers: it loads and compiles."""
    A = np.asfortranarray(np.random.default_rng(0).standard_normal((300, 200)))
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path()
    path = folder / f"reach-{time.time_ns()}.npy"
    np.save(path, A)
    try:
        fit(str(path), A[:, 0] + A[:, 1], 20.0, 1e8)
    finally:
        path.unlink()


class Anonymous:
    """Kilobytes of anonymous memory that this process has grown by, at most, while something runs."""

    def __enter__(self):
        self.start, self.grown, self.ends = in_kilobytes("RssAnon"), 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def __exit__(self, *error):
        self.ends.set()
        self.watcher.join()

    def watch(self):
        while not self.ends.wait(0.005):
            self.grown = max(self.grown, in_kilobytes("RssAnon") - self.start)


def in_kilobytes(name):
    """A number of the system's about this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def gap_at(path, b, strength, x):
    """The duality gap of ½‖Ax − b‖² + strength·‖x‖₁ for the residual, scaled, over F at zero."""
    A = np.load(path, mmap_mode="r")
    moved = np.flatnonzero(x)
    residual = b - A[:, moved] @ x[moved]
    blocks = (A[:, start : start + BLOCK].T @ residual for start in range(0, x.size, BLOCK))
    scale = min(1.0, strength / max(float(np.abs(block).max()) for block in blocks))
    primal = 0.5 * float(residual @ residual) + strength * float(np.abs(x).sum())
    dual = 0.5 * float(b @ b) - 0.5 * float((b - scale * residual) @ (b - scale * residual))
    return (primal - dual) / (0.5 * float(b @ b))
