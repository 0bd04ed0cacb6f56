"""
Text classification on sparse data
==================================

Twenty thousand words, of which a document holds a few dozen. The design stays sparse from the first line to the last,
and the L1 penalty finds the words that matter. (The documents are generated: word frequencies fall off as in real
text.)
"""

import matplotlib.pyplot as plt
import numpy as np

from ascd import LogisticRegression
from ascd.reproduction.datasets import make_text_like

data = make_text_like(n_samples=3000, n_features=20_000, n_words=60, rng=0)
train, test = np.arange(2000), np.arange(2000, 3000)
rows = data.A.tocsr()
print(f"{data.A.shape[0]} documents × {data.A.shape[1]} words, {data.A.nnz / data.A.shape[0]:.0f} words a document")

# %%
# Larger C, weaker penalty, more words.

Cs = np.geomspace(0.03, 30.0, 7)
words, accuracies, reads = [], [], []
for C in Cs:
    model = LogisticRegression(l1_ratio=1.0, C=C).fit(rows[train], data.b[train])
    words.append(np.count_nonzero(model.coef_))
    accuracies.append((model.score(rows[train], data.b[train]), model.score(rows[test], data.b[test])))
    reads.append(model.certificate_.columns_read / data.A.shape[1])
    print(f"C = {C:7.3f}: {words[-1]:5d} words, gap {model.certificate_.gap:.1e}, {reads[-1]:5.1f} reads a column")

# %%
# Reads a column: few where the penalty is strong, because most intervals decide without a look; more where it is weak.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.semilogx(Cs, accuracies, "o-", label=["training documents", "new documents"])
left.set(xlabel="C", ylabel="accuracy")
left.legend()
right.loglog(Cs, np.maximum(words, 1), "o-", color="C2")
right.set(xlabel="C", ylabel="words with a coefficient")
right.set_yticks([20, 50, 100, 200, 500], labels=["20", "50", "100", "200", "500"], minor=False)
right.minorticks_off()
