"""The method of "Approximate Steepest Coordinate Descent", written down naively.

This is the executable specification the library is tested against: plain loops, dense arrays,
no caching, and no import of the library.  Every formula follows the paper with its slips
corrected (E1, E2, ... are the rows of the errata); the ``printed_*`` functions keep the printed
forms, so that tests can show that they fail.

    F(x) = f(x) + sum_j Psi_j(x_j),    f(x) = sum_k s_k loss(b_k, (A x)_k),    A of shape d x n

Notation: N_j = ||sqrt(diag(s)) a_j||, M bounds the curvature of the loss, L_j = M N_j^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

INF = float("inf")

# ------------------------------------------------------------------------------------- losses


class Squared:
    """1/2 (z - y)^2."""

    bound, quadratic = 1.0, True

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def derivative(self, y, z):
        return z - y

    def curvature(self, y, z):
        return np.ones_like(z)

    def conjugate(self, y, u):
        """sup_z u z - loss(y, z) = u y + u^2 / 2."""
        return u * y + 0.5 * u**2


class Logistic:
    """log(1 + exp(-y z)), y = -1 or +1."""

    bound, quadratic = 0.25, False

    def value(self, y, z):
        return np.logaddexp(0.0, -y * z)

    def derivative(self, y, z):
        return -y * np.exp(-np.logaddexp(0.0, y * z))

    def curvature(self, y, z):
        return y**2 * np.exp(-np.logaddexp(0.0, y * z) - np.logaddexp(0.0, -y * z))

    def conjugate(self, y, u):
        """p log p + (1-p) log(1-p) for p = -u/y in [0, 1] (0 log 0 = 0), else inf."""
        p = -u / y
        if not 0.0 <= p <= 1.0:
            return INF
        return sum(q * np.log(q) for q in (p, 1.0 - p) if q > 0.0)


class Huber:
    """r^2 / 2 if |r| <= delta, else delta (|r| - delta/2), with r = z - y."""

    bound, quadratic = 1.0, False

    def __init__(self, delta=1.35):
        self.delta = delta

    def value(self, y, z):
        r = np.abs(z - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def derivative(self, y, z):
        return np.clip(z - y, -self.delta, self.delta)

    def curvature(self, y, z):
        return np.where(np.abs(z - y) <= self.delta, 1.0, 0.0)

    def conjugate(self, y, u):
        """u y + u^2 / 2 for |u| <= delta, else inf."""
        return u * y + 0.5 * u**2 if abs(u) <= self.delta else INF


class SquaredHinge:
    """max(0, 1 - y z)^2, y = -1 or +1 (no factor 1/2)."""

    bound, quadratic = 2.0, False

    def value(self, y, z):
        return np.maximum(0.0, 1.0 - y * z) ** 2

    def derivative(self, y, z):
        return -2.0 * y * np.maximum(0.0, 1.0 - y * z)

    def curvature(self, y, z):
        return np.where(y * z < 1.0, 2.0 * y**2, 0.0)

    def conjugate(self, y, u):
        """w + w^2 / 4 for w = u/y <= 0, else inf."""
        w = u / y
        return w + 0.25 * w**2 if w <= 0.0 else INF


def make_loss(name, huber_delta=1.35):
    if name == "huber":
        return Huber(huber_delta)
    return {"squared": Squared, "logistic": Logistic, "squared_hinge": SquaredHinge}[name]()


# ---------------------------------------------------------------------------------- penalties


@dataclass
class Penalty:
    """Psi_j(x) = l1_j |x| + l2_j x^2 / 2 + linear_j x + indicator of [lower_j, upper_j]."""

    l1: np.ndarray
    l2: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    linear: np.ndarray

    def value(self, x, j):
        if not self.lower[j] <= x <= self.upper[j]:
            return INF
        return self.l1[j] * abs(x) + 0.5 * self.l2[j] * x**2 + self.linear[j] * x

    def prox(self, v, step, j):
        """argmin_z (z - v)^2 / 2 + step Psi_j(z)."""
        v = v - step * self.linear[j]
        soft = np.sign(v) * max(abs(v) - step * self.l1[j], 0.0)
        return min(max(soft / (1.0 + step * self.l2[j]), self.lower[j]), self.upper[j])

    def subgradient(self, x, j):
        """The interval of subgradients of Psi_j at a feasible x; open-ended at the box ends."""
        smooth = self.l2[j] * x + self.linear[j]
        lo = smooth + (self.l1[j] if x > 0 else -self.l1[j])
        hi = smooth + (-self.l1[j] if x < 0 else self.l1[j])
        return (-INF if x == self.lower[j] else lo), (INF if x == self.upper[j] else hi)

    def dual_domain(self, j):
        """The interval on which Psi_j^* is finite."""
        lo = -INF if self.l2[j] > 0 or self.lower[j] > -INF else self.linear[j] - self.l1[j]
        hi = INF if self.l2[j] > 0 or self.upper[j] < INF else self.linear[j] + self.l1[j]
        return lo, hi

    def conjugate(self, u, j):
        """sup_x u x - Psi_j(x)."""
        lo, hi = self.dual_domain(j)
        if not lo <= u <= hi:
            return INF
        w, l1, l2 = u - self.linear[j], self.l1[j], self.l2[j]
        if l2 > 0:  # the unconstrained maximiser, moved into the box
            ends = [np.sign(w) * max(abs(w) - l1, 0.0) / l2]
        else:  # piecewise linear and bounded: the supremum is at a kink or a finite end
            ends = [0.0] + [e for e in (self.lower[j], self.upper[j]) if np.isfinite(e)]
        points = [min(max(e, self.lower[j]), self.upper[j]) for e in ends]
        return max(w * z - l1 * abs(z) - 0.5 * l2 * z**2 for z in points)


def _penalty(n, l1=0.0, l2=0.0, lower=-INF, upper=INF, linear=None):
    fields = (l1, l2, lower, upper, 0.0 if linear is None else linear)
    return Penalty(*(np.array(np.broadcast_to(v, n), dtype=float) for v in fields))


def Zero(n, linear=None):
    return _penalty(n, linear=linear)


def L1(strength, linear=None):
    return _penalty(len(strength), l1=strength, linear=linear)


def L2(strength, linear=None):
    return _penalty(len(strength), l2=strength, linear=linear)


def ElasticNet(l1, l2, linear=None):
    return _penalty(len(l1), l1=l1, l2=l2, linear=linear)


def Box(lower, upper, l2=0.0, linear=None):
    return _penalty(len(lower), l2=l2, lower=lower, upper=upper, linear=linear)


# -------------------------------------------------------------------- problem and duality gap


class Problem:
    """F, its gradient and its constants."""

    def __init__(self, A, b, loss="squared", penalty=None, sample_weight=None, huber_delta=1.35):
        self.A, self.b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        self.d, self.n = self.A.shape
        self.s = np.ones(self.d) if sample_weight is None else np.asarray(sample_weight, float)
        self.loss = make_loss(loss, huber_delta) if isinstance(loss, str) else loss
        self.penalty = Zero(self.n) if penalty is None else penalty
        self.M = self.loss.bound
        self.gram = self.A.T @ (self.s[:, None] * self.A)  # <a_i, diag(s) a_j>
        self.norms = np.array([np.sqrt(np.sum(self.s * a**2)) for a in self.A.T])  # N_j
        lipschitz = self.M * self.norms**2
        smallest = min((v for v in lipschitz if v > 0), default=1.0)
        self.Lj = np.where(lipschitz > 0, lipschitz, smallest)
        self.L = self.Lj.max()

    def smooth_value(self, x):
        return float(np.sum(self.s * self.loss.value(self.b, self.A @ x)))

    def value(self, x):
        return self.smooth_value(x) + sum(self.penalty.value(x[j], j) for j in range(self.n))

    def gradient(self, x):
        """grad f(x) = A^T (s loss'(b, A x))."""
        return self.A.T @ (self.s * self.loss.derivative(self.b, self.A @ x))

    def duality_gap(self, x):
        """F(x) + sum_k (s_k loss)^*(theta_k) + sum_j Psi_j^*(-(A^T theta)_j).

        theta = scale * s * loss'(b, A x), with the largest feasible scale in [0, 1]; summed
        as nonnegative Fenchel-Young terms, where (s loss)^*(s q) = s loss^*(q).
        """
        z = self.A @ x
        slope = self.loss.derivative(self.b, z)
        scale = self.dual_scale(self.A.T @ (self.s * slope))
        if scale is None:
            return INF
        q = scale * slope
        u = self.A.T @ (self.s * q)
        gap = 0.0
        for k in range(self.d):
            pair = self.loss.value(self.b[k], z[k]) + self.loss.conjugate(self.b[k], q[k])
            gap += self.s[k] * (pair - q[k] * z[k]) if self.s[k] > 0 else 0.0
        for j in range(self.n):
            dual = np.clip(-u[j], *self.penalty.dual_domain(j))  # against rounding only
            gap += self.penalty.value(x[j], j) + self.penalty.conjugate(dual, j) + x[j] * u[j]
        return float(gap)

    def dual_scale(self, u):
        """The largest t in [0, 1] with -t u_j in the domain of Psi_j^* for all j, or None."""
        low, high = 0.0, 1.0
        for j in range(self.n):
            lo, hi = self.penalty.dual_domain(j)
            if u[j] == 0.0:
                if not lo <= 0.0 <= hi:
                    return None
                continue
            ends = sorted((-lo / u[j], -hi / u[j]))
            low, high = max(low, ends[0]), min(high, ends[1])
        return high if low <= high else None


# ------------------------------------------------------------------------------------ oracles
# An oracle is a function (problem, i, rng) -> (p, e) with |p_j - <a_i, diag(s) a_j>| <= e_j.


def oracle_exact():
    return lambda problem, i, rng: (problem.gram[i].copy(), np.zeros(problem.n))


def oracle_sketch(E, eps):
    """g^2: p = <E_i, E_j> clipped to +-N_i N_j, e = eps N_i N_j (E embeds sqrt(diag(s)) A)."""

    def row(problem, i, rng):
        bound = problem.norms[i] * problem.norms
        return np.clip(E.T @ E[:, i], -bound, bound), eps * bound

    return row


def oracle_simulated(eps):
    """g^2 as in the experiments: a value u.a.r. from the allowed error interval."""

    def row(problem, i, rng):
        error = eps * problem.norms[i] * problem.norms
        return problem.gram[i] + error * (2.0 * rng.random(problem.n) - 1.0), error

    return row


def oracle_norm():
    """g^3: p = 0, e = N_i N_j."""
    return lambda problem, i, rng: (np.zeros(problem.n), problem.norms[i] * problem.norms)


def oracle_random(printed=False):
    """g^4: p u.a.r. in +-N_i N_j; e = N_i N_j + |p| (E4), printed: e = N_i N_j."""

    def row(problem, i, rng):
        bound = problem.norms[i] * problem.norms
        p = bound * (2.0 * rng.random(problem.n) - 1.0)
        return p, (bound if printed else bound + np.abs(p))

    return row


def oracle_blind(inner, columns):
    """As inner, but knows nothing (e = inf) about the given columns."""

    def row(problem, i, rng):
        p, e = inner(problem, i, rng)
        e = np.array(e, dtype=float)
        e[list(columns)] = INF
        return p, e

    return row


def gradient_oracle(problem, oracle, i, rng):
    """(g_i., delta_i.) from (p, e): with a Hessian diag(s h), 0 <= h <= M,

    quadratic loss: g = p, delta = e; else g = M/2 p, delta = M/2 (N_i N_j + e).
    """
    p, e = oracle(problem, i, rng)
    if problem.loss.quadratic:
        return p, e
    return 0.5 * problem.M * p, 0.5 * problem.M * (problem.norms[i] * problem.norms + e)


def _with(x, i, z):
    """x with its i-th entry replaced by z."""
    x = np.array(x, dtype=float)
    x[i] = z
    return x


def check_oracle_contract(problem, x, i, gamma, g, delta, tol=1e-9):
    """(E2) |grad_j f(x + gamma e_i) - grad_j f(x) - gamma g_j| <= |gamma| delta_j, j != i."""
    change = problem.gradient(_with(x, i, x[i] + gamma)) - problem.gradient(x)
    ok = np.abs(change - gamma * g) <= abs(gamma) * delta + tol
    return bool(np.all(np.delete(ok, i)))


def printed_oracle_contract(problem, x, i, gamma, g, delta, tol=1e-9):
    """(E2, printed) |grad_j f(x + gamma e_i) - gamma g_j| <= |gamma| delta_j, j != i."""
    ok = np.abs(problem.gradient(_with(x, i, x[i] + gamma)) - gamma * g) <= abs(gamma) * delta + tol
    return bool(np.all(np.delete(ok, i)))


def move_intervals(estimate, radius, i, gamma, g, delta):
    """(E1) estimate_j += gamma g_j, radius_j += |gamma| delta_j, for j != i."""
    others = np.arange(len(estimate)) != i
    return (np.where(others, estimate + gamma * g, estimate), np.where(others, radius + abs(gamma) * delta, radius))


def printed_move_intervals(estimate, radius, i, gamma, g, delta):
    """(E1, printed) radius_j += gamma delta_j."""
    estimate, _ = move_intervals(estimate, radius, i, gamma, g, delta)
    return estimate, np.where(np.arange(len(radius)) != i, radius + gamma * delta, radius)


# ---------------------------------------------------------------------------------- steepness


def _family(problem, steepness, j):
    """("s", "r" or "q"; the model's curvature kappa; a factor: 1/sqrt(L_j) for gsl, else 1)."""
    rule, _, family = steepness.partition("-")
    family = family or "s"
    if rule not in ("gs", "gsl") or family not in ("s", "r", "q"):
        raise ValueError(steepness)
    if rule == "gsl":
        return family, problem.Lj[j], 1.0 / np.sqrt(problem.Lj[j])
    return family, problem.L, 1.0


def model_minimiser(problem, x, g, kappa, j):
    """argmin_z g (z - x) + kappa/2 (z - x)^2 + Psi_j(z) = prox(x - g/kappa, 1/kappa)."""
    return problem.penalty.prox(x - g / kappa, 1.0 / kappa, j)


def model(problem, x, z, g, kappa, j):
    """(E7) V = g y + kappa/2 y^2 + Psi_j(x + y) - Psi_j(x), with z = x + y feasible.

    Psi_j(z) - Psi_j(x) is expanded in y, so that tiny steps are not lost to cancellation.
    """
    y, pen = z - x, problem.penalty
    slope = g + 0.5 * kappa * y + 0.5 * pen.l2[j] * (z + x) + pen.linear[j]
    return slope * y + pen.l1[j] * (abs(z) - abs(x))


def printed_model(problem, x, z, g, kappa, j):
    """(E7, printed) V = g y + kappa/2 y^2 + Psi_j(x + y)."""
    y = z - x
    return g * y + 0.5 * kappa * y**2 + problem.penalty.value(z, j)


def model_progress(problem, x, g, kappa, j):
    """-min_z V >= 0; an infinite g gives inf, unless the box forbids to move."""
    z = model_minimiser(problem, x, g, kappa, j)
    if np.isinf(g):
        return 0.0 if z == x else INF
    return max(0.0, -model(problem, x, z, g, kappa, j))


def score_one(problem, steepness, x, g, j):
    """How steep coordinate j is at x_j = x where grad_j f = g, in units of the gradient.

    s: dist(-g, subgradients); r: kappa |y*|; q: sqrt(2 kappa progress); gsl: over sqrt(L_j).
    """
    family, kappa, factor = _family(problem, steepness, j)
    if family == "s":
        a, b = problem.penalty.subgradient(x, j)
        return factor * max(0.0, a + g, -g - b)
    if family == "r":
        return factor * kappa * abs(model_minimiser(problem, x, g, kappa, j) - x)
    return factor * np.sqrt(2.0 * kappa * model_progress(problem, x, g, kappa, j))


def _bounds_s(problem, x, lo, hi, kappa, j):
    """The distance max(0, a + g, -g - b) is convex in g; a = -inf or b = inf drop a term."""
    a, b = problem.penalty.subgradient(x, j)
    lower = max(0.0, a + lo, -hi - b)
    upper = max(0.0, a + hi if a > -INF else 0.0, -lo - b if b < INF else 0.0)
    return lower, upper


def _bounds_r(problem, x, lo, hi, kappa, j):
    """(E6) y* lies between u* and l*: the extreme values of |y| on that segment."""
    u_star = model_minimiser(problem, x, hi, kappa, j) - x
    l_star = model_minimiser(problem, x, lo, kappa, j) - x
    ends = abs(u_star), abs(l_star)
    return (0.0 if u_star <= 0.0 <= l_star else kappa * min(ends)), kappa * max(ends)


def _bounds_q(problem, x, lo, hi, kappa, j):
    """Algorithm 2: v <= min_y V <= w, with w = min{omega_u, omega_l, 0} (E7)."""
    if np.isinf(lo) or np.isinf(hi):
        best = max(model_progress(problem, x, g, kappa, j) for g in (lo, hi))
        return 0.0, np.sqrt(2.0 * kappa * best)
    u, ell = hi, lo
    z_u, z_ell = (model_minimiser(problem, x, g, kappa, j) for g in (u, ell))
    V_u, V_ell = model(problem, x, z_u, u, kappa, j), model(problem, x, z_ell, ell, kappa, j)
    omega_u = V_u + max(0.0, (z_u - x) * (ell - u))
    omega_ell = V_ell + max(0.0, (z_ell - x) * (u - ell))
    v = min(V_u, V_ell)
    w = min(omega_u, omega_ell, 0.0)
    return np.sqrt(2.0 * kappa * -w), np.sqrt(2.0 * kappa * max(0.0, -v))


def bounds_one(problem, steepness, x, lo, hi, j):
    """(lower, upper) on score_one over all g in [lo, hi]; lo, hi may be infinite."""
    family, kappa, factor = _family(problem, steepness, j)
    bounds = {"s": _bounds_s, "r": _bounds_r, "q": _bounds_q}[family]
    lower, upper = bounds(problem, x, lo, hi, kappa, j)
    return factor * lower, factor * upper


def scores(problem, steepness, x, gradient):
    return np.array([score_one(problem, steepness, x[j], gradient[j], j) for j in range(len(x))])


def bounds(problem, steepness, x, estimate, radius):
    """(lower, upper), each of length n, for grad_j f in [estimate_j - r_j, estimate_j + r_j]."""
    lo, hi = estimate - radius, estimate + radius
    pairs = [bounds_one(problem, steepness, x[j], lo[j], hi[j], j) for j in range(len(x))]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def printed_gs_r_bounds(problem, x, lo, hi, j):
    """(E6, printed) (min, max) of y on the segment between l* and u*, without |.|, times L."""
    ends = [problem.L * (model_minimiser(problem, x, g, problem.L, j) - x) for g in (lo, hi)]
    return min(ends), max(ends)


def printed_gs_q_rule(problem, x):
    """(E7, printed) argmin_j min_y g y + L/2 y^2 + Psi_j(x_j + y), without - Psi_j(x_j)."""
    g, L, values = problem.gradient(x), problem.L, []
    for j in range(problem.n):
        z = model_minimiser(problem, x[j], g[j], L, j)
        values.append(printed_model(problem, x[j], z, g[j], L, j))
    return int(np.argmin(values))


def printed_gs_rule(problem, x):
    """(E8, printed) argmax_i grad_i |f(x)| = argmax_i sign(f(x)) grad_i f(x)."""
    return int(np.argmax(np.sign(problem.smooth_value(x)) * problem.gradient(x)))


# -------------------------------------------------------------------- active sets and selection


def _valid(upper, lower, active):
    """u_j^2 < av(I) = mean of l_i^2 over I, for all j outside I (exact rational arithmetic)."""
    average = sum(Fraction(float(lower[i])) ** 2 for i in active) / len(active)
    outside = [float(upper[j]) for j in range(len(upper)) if j not in active]
    return all(u < INF and Fraction(u) ** 2 < average for u in outside)


def smallest_active_set(upper, lower):
    """(E5) the first valid prefix of the coordinates sorted by decreasing upper bound."""
    order = [int(j) for j in np.argsort(-np.asarray(upper), kind="stable")]
    for k in range(1, len(order) + 1):
        if _valid(upper, lower, order[:k]):
            return sorted(order[:k])


def smallest_active_set_bruteforce(upper, lower):
    """A valid set of minimum size, by trying all nonempty subsets in order of size."""
    for k in range(1, len(upper) + 1):
        for active in combinations(range(len(upper)), k):
            if _valid(upper, lower, active):
                return list(active)


def active_set_by_peeling(upper, lower):
    """(E5, wrong) from the full set, drop the smallest u while the rest stays valid."""
    active = list(range(len(upper)))
    while len(active) > 1:
        rest = [j for j in active if j != min(active, key=lambda i: upper[i])]
        if not _valid(upper, lower, rest):
            break
        active = rest
    return active


def argmax_set(values, candidates=None):
    candidates = range(len(values)) if candidates is None else candidates
    best = max(values[i] for i in candidates)
    return [i for i in candidates if values[i] == best]


def active_set(rule, upper, lower):
    """The sorted active set I_t of ascd and of its heuristic variants."""
    if rule == "ascd":
        return smallest_active_set(upper, lower)
    if rule == "u-ascd":
        return argmax_set(upper)
    if rule == "l-ascd":
        return argmax_set(lower)
    if rule == "a-ascd":
        return [i for i in range(len(upper)) if upper[i] >= max(lower)]
    raise ValueError(rule)


def uniform_pick(candidates, rng):
    """One draw, also from a single candidate."""
    return candidates[int(rng.random() * len(candidates))]


def select(problem, rule, t, x, estimate, radius, steepness, rng, pick="uniform", power=1.0):
    """(active set, picked coordinate); pick = "largest-lower" is the printed pick (E3)."""
    n = problem.n
    everything = list(range(n))
    if rule == "cyclic":
        return everything, t % n
    if rule == "uniform":
        return everything, uniform_pick(everything, rng)
    if rule == "importance":
        total = np.cumsum(problem.Lj**power)
        i = np.searchsorted(total, rng.random() * total[-1], side="right")
        return everything, min(int(i), n - 1)
    if rule == "steepest":
        return everything, int(np.argmax(scores(problem, steepness, x, problem.gradient(x))))
    lower, upper = bounds(problem, steepness, x, estimate, radius)
    active = active_set(rule, upper, lower)
    return active, uniform_pick(argmax_set(lower, active) if pick != "uniform" else active, rng)


# -------------------------------------------------------------------------------- coordinate steps


def take_step(problem, step, x, i, g):
    """(new x_i, estimate of grad_i f at the new point, its error), given g = grad_i f(x)."""
    if step == "line-search" and not problem.loss.quadratic:
        z = line_minimiser(problem, x, i)
        return z, problem.gradient(_with(x, i, z))[i], 0.0
    kappa = problem.L if step == "fixed" else problem.Lj[i]
    z = problem.penalty.prox(x[i] - g / kappa, 1.0 / kappa, i)
    gamma, curvature = z - x[i], problem.M * problem.norms[i] ** 2
    if problem.loss.quadratic:
        return z, g + gamma * curvature, 0.0
    return z, g + gamma * curvature / 2, abs(gamma) * curvature / 2


def line_minimiser(problem, x, i):
    """A minimiser of z -> F(x with x_i = z), by bisection on its monotone subgradient."""

    def side(z):
        """0 at a minimiser, -1 to the left of all minimisers, +1 to the right."""
        g = problem.gradient(_with(x, i, z))[i]
        lo, hi = problem.penalty.subgradient(z, i)
        return 1 if g + lo > 0 else (-1 if g + hi < 0 else 0)

    start = side(x[i])
    if start == 0:
        return x[i]
    lower, upper = problem.penalty.lower[i], problem.penalty.upper[i]
    kinks = [lower, upper] + ([0.0] if problem.penalty.l1[i] > 0 else [])
    for kink in kinks:
        if lower <= kink <= upper and np.isfinite(kink) and side(kink) == 0:
            return kink
    near, width = x[i], 1.0
    far = min(max(near - start * width, lower), upper)
    while side(far) == start:
        near, width = far, 2.0 * width
        if width > 1e30:
            raise ValueError("the objective has no minimiser along this coordinate")
        far = min(max(x[i] - start * width, lower), upper)
    for _ in range(200):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if side(middle) == start else (near, middle)
    return far


# ------------------------------------------------------------------------------------ the method


@dataclass
class Result:
    """One entry per iteration, each as it is after that iteration's step."""

    problem: Problem
    picks: list = field(default_factory=list)
    active_sets: list = field(default_factory=list)
    x: list = field(default_factory=list)
    estimate: list = field(default_factory=list)
    radius: list = field(default_factory=list)
    objectives: list = field(default_factory=list)


def initial_intervals(problem, init, x):
    """ "gradient": exact; "none": 0 with radius inf; or a pair (estimate, radius)."""
    if isinstance(init, str) and init == "gradient":
        return problem.gradient(x), np.zeros(problem.n)
    if isinstance(init, str) and init == "none":
        return np.zeros(problem.n), np.full(problem.n, INF)
    return tuple(np.array(np.broadcast_to(v, problem.n), dtype=float) for v in init)


def descend(
    A, b, *, loss="squared", penalty=None, sample_weight=None, rule="ascd", oracle=None,
    steepness="gs-s", step="coordinate", init="gradient", x0=None, n_iter=100, rng=None,
    pick="uniform", power=1.0, huber_delta=1.35, move=move_intervals,
):  # fmt: skip
    """Algorithm 1: select (draws), exact g_i, step, oracle (draws, only if x_i moved), pin."""
    problem = Problem(A, b, loss, penalty, sample_weight, huber_delta)
    rng = np.random.default_rng(0) if rng is None else rng
    oracle = oracle_exact() if oracle is None else oracle
    x = np.zeros(problem.n) if x0 is None else np.array(x0, dtype=float)
    estimate, radius = initial_intervals(problem, init, x)
    result = Result(problem)
    for t in range(n_iter):
        active, i = select(problem, rule, t, x, estimate, radius, steepness, rng, pick, power)
        gradient = problem.gradient(x)
        if rule == "steepest":  # the exact scores needed all the gradient
            estimate = np.where(radius > 0, gradient, estimate)
            radius = np.zeros(problem.n)
        new, g_new, r_new = take_step(problem, step, x, i, gradient[i])
        gamma = new - x[i]
        if gamma != 0.0:
            g, delta = gradient_oracle(problem, oracle, i, rng)
            estimate, radius = move(estimate, radius, i, gamma, g, delta)
        x[i], estimate[i], radius[i] = new, g_new, r_new
        result.picks.append(i)
        result.active_sets.append(active)
        result.x.append(x.copy())
        result.estimate.append(estimate.copy())
        result.radius.append(radius.copy())
        result.objectives.append(problem.value(x))
    return result


# ---------------------------------------------------------------------------------- the theory


def tau_ascd(score, active, L):
    """Expected one-step progress: mean over I of score_i^2 / (2 L)."""
    return sum(score[i] ** 2 for i in active) / len(active) / (2.0 * L)


def tau_ucd(score, L):
    return tau_ascd(score, range(len(score)), L)


def tau_scd(score, L):
    return max(score) ** 2 / (2.0 * L)


def geometric_sum(c, n):
    """(E10) S_n(c) = sum_{i<n} c^i."""
    return sum(c**i for i in range(n))


def printed_geometric_sum(c, n):
    """(E10, printed) sum_{i<n} c^n."""
    return n * c**n


def lower_bound_problem(n, alpha):
    """(Q, x_0, c) on which SCD is no faster than UCD: c^(n-1) = (1 - alpha)/n S_n(c)."""
    lo, hi = 0.0, 1.0
    for _ in range(200):
        c = 0.5 * (lo + hi)
        too_small = c ** (n - 1) < (1.0 - alpha) / n * geometric_sum(c, n)
        lo, hi = (c, hi) if too_small else (lo, c)
    return np.eye(n) + (alpha - 1.0) / n * np.ones((n, n)), c ** np.arange(n), c


def competitive_ratio(n, s, c, T):
    """The lower bound on rho_infinity of the competitive-ratio theorem."""
    theta = n**2 + (c - 1) ** 2 * s**2 + 2 * n * ((c - 1) * s - T) + 2 * (1 + c) * s * T + T**2
    return 2.0 * c * s / (c * s + n - s - T + np.sqrt(theta))
