"""Kernels of OASIS and LEGO, with a weight per word or with a full matrix."""

from __future__ import annotations

import math

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.solis.margin_kernels import find_margin

ROUNDS, LOSSES = 0, 1


@kernel
def oasis_diagonal(rows, triplets, sample_weight, w, counters, C, margin, work):  # type: ignore[no-untyped-def]
    """w += min(C s, loss / |z|^2) z."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        value = 0.0
        power = 0.0
        for k in range(at, end):
            value += w[work.words[k]] * work.z[k]
            power += work.z[k] ** 2
        s = sample_weight[t] if len(sample_weight) else 1.0
        loss = margin - value
        counters[ROUNDS] += 1
        if not (s > 0.0 and loss > 0.0):
            continue
        counters[LOSSES] += 1
        if power > 0.0:
            step = min(C * s, loss / power)
            for k in range(at, end):
                w[work.words[k]] += step * work.z[k]


@kernel
def difference(rows, u, v, words, values):  # type: ignore[no-untyped-def]
    """Compute row u minus row v; return the number of non-zeros."""
    i, end_i = rows.ends[u], rows.ends[u + 1]
    j, end_j = rows.ends[v], rows.ends[v + 1]
    n = 0
    while i < end_i or j < end_j:
        if j == end_j or (i < end_i and rows.words[i] < rows.words[j]):
            word, d = rows.words[i], np.float64(rows.values[i])
            i += 1
        elif i == end_i or rows.words[j] < rows.words[i]:
            word, d = rows.words[j], -np.float64(rows.values[j])
            j += 1
        else:
            word, d = rows.words[i], np.float64(rows.values[i]) - np.float64(rows.values[j])
            i += 1
            j += 1
        words[n] = word
        values[n] = d
        n += d != 0.0
    return n


@kernel
def oasis_full(rows, triplets, sample_weight, W, counters, C, margin, words, d):  # type: ignore[no-untyped-def]
    """W += min(C s, loss / (|x|^2 |x+ - x-|^2)) x (x+ - x-)'."""
    for t in range(len(triplets)):
        a = triplets[t, 0]
        n = difference(rows, triplets[t, 1], triplets[t, 2], words, d)
        value = 0.0
        power_x = 0.0
        for i in range(rows.ends[a], rows.ends[a + 1]):
            x = np.float64(rows.values[i])
            power_x += x * x
            inner = 0.0
            for k in range(n):
                inner += W[rows.words[i], words[k]] * d[k]
            value += x * inner
        power_d = 0.0
        for k in range(n):
            power_d += d[k] * d[k]
        s = sample_weight[t] if len(sample_weight) else 1.0
        loss = margin - value
        counters[ROUNDS] += 1
        if not (s > 0.0 and loss > 0.0):
            continue
        counters[LOSSES] += 1
        power = power_x * power_d
        if power > 0.0:
            step = min(C * s, loss / power)
            for i in range(rows.ends[a], rows.ends[a + 1]):
                x = step * np.float64(rows.values[i])
                for k in range(n):
                    W[rows.words[i], words[k]] += x * d[k]


@kernel
def _root(b, n, y, eta):  # type: ignore[no-untyped-def]
    """Solve sum_j b_j/(1 + c b_j) = y + c/eta for c > -1/max b, by Newton steps in a bracket."""
    top = 0.0
    total = 0.0
    for k in range(n):
        top = max(top, b[k])
        total += b[k]
    # The value at c = 0 gives the sign of the root.
    if total > y:
        low, high = 0.0, eta * (total - y)
        c = low
    else:
        low, high = -1.0 / top, 0.0
        c = 0.5 * low
    for _ in range(200):
        value = -y - c / eta
        slope = -1.0 / eta
        for k in range(n):
            r = b[k] / (1.0 + c * b[k])
            value += r
            slope -= r * r
        if value > 0.0:
            low = c
        else:
            high = c
        newton = c - value / slope
        step = newton if low < newton < high else 0.5 * (low + high)
        # The sum is accurate to about 1e-14 of its terms.
        if abs(step - c) <= 1e-13 * abs(c) or abs(value) <= 1e-14 * (total + y):
            break
        c = step
    return c


@kernel
def lego_diagonal(rows, triplets, sample_weight, a, counters, eta, low, high, words, d, b):  # type: ignore[no-untyped-def]
    """1/a_j += c d_j^2 for a pair too far (nearer) or too close (farther)."""
    for t in range(len(triplets)):
        s = sample_weight[t] if len(sample_weight) else 1.0
        counters[ROUNDS] += 1
        lost = False
        for side in range(2):
            n = difference(rows, triplets[t, 0], triplets[t, 1 + side], words, d)
            distance = 0.0
            for k in range(n):
                b[k] = a[words[k]] * d[k] * d[k]
                distance += b[k]
            y = high if side else low
            wrong = distance < y if side else distance > y
            if not (wrong and s > 0.0 and distance > 0.0):
                continue
            lost = True
            c = _root(b, n, y, eta * s)
            for k in range(n):
                a[words[k]] /= 1.0 + c * b[k]
        counters[LOSSES] += lost


@kernel
def lego_full(rows, triplets, sample_weight, A, counters, eta, low, high, words, d, product):  # type: ignore[no-untyped-def]
    """A -= c/(1 + c yhat) (Ad)(Ad)' with Jain's closed form for c."""
    m = len(A)
    for t in range(len(triplets)):
        s = sample_weight[t] if len(sample_weight) else 1.0
        counters[ROUNDS] += 1
        lost = False
        for side in range(2):
            n = difference(rows, triplets[t, 0], triplets[t, 1 + side], words, d)
            distance = 0.0
            for k in range(n):
                for i in range(n):
                    distance += d[k] * A[words[k], words[i]] * d[i]
            y = high if side else low
            wrong = distance < y if side else distance > y
            if not (wrong and s > 0.0 and distance > 0.0):
                continue
            lost = True
            rate = eta * s
            half = rate * y * distance - 1.0
            target = (half + math.sqrt(half * half + 4 * rate * distance * distance)) / (
                2 * rate * distance
            )
            c = rate * (target - y)
            # A is symmetric; its rows are contiguous.
            product[:] = 0.0
            for k in range(n):
                for i in range(m):
                    product[i] += d[k] * A[words[k], i]
            factor = c / (1.0 + c * distance)
            for i in range(m):
                if product[i] != 0.0:
                    scale = factor * product[i]
                    for j in range(m):
                        A[i, j] -= scale * product[j]
        counters[LOSSES] += lost
