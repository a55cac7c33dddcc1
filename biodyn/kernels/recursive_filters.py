"""Recursive filters along time, for eight curves at once.

Sums have a fixed order without fused multiply-add, so that the results are the same on every processor.
"""

from __future__ import annotations

from typing import Final

from biodyn.kernels.jit import exact_kernel

#: Number of curves that are processed together in the working memory.
LANES: Final = 8
#: Number of rows of the working memory that a filter needs in addition to the samples.
FILTER_ROWS: Final = 5


@exact_kernel
def filter_zero_phase(curves, sections, work):
    """Filter curves (K, n) in place, forwards and then backwards; each pass starts in the steady state of its first sample.

    sections (S, 4) in the order of a pass: gain, a1, a2, m. A section is gain (1 + z^-1)^m / (1 + a1 z^-1 + a2 z^-2), m 1 or 2.
    work (n + FILTER_ROWS, LANES).
    """
    count, n = curves.shape
    rest, input1, sum1, output1, output2 = work[n], work[n + 1], work[n + 2], work[n + 3], work[n + 4]
    for first in range(0, count, LANES):
        for j in range(n):
            for lane in range(LANES):
                work[j, lane] = curves[min(first + lane, count - 1), j]
        for step in (1, -1):
            begin = 0 if step == 1 else n - 1
            for lane in range(LANES):
                rest[lane] = work[begin, lane]
            for j in range(n):
                row = work[j]
                for lane in range(LANES):
                    row[lane] -= rest[lane]
            for s in range(sections.shape[0]):
                gain, a1, a2, twice = sections[s, 0], sections[s, 1], sections[s, 2], sections[s, 3] == 2.0
                for k in range(1, 5):
                    for lane in range(LANES):
                        work[n + k, lane] = 0.0
                for j in range(n):
                    row = work[begin + step * j]
                    for lane in range(LANES):
                        scaled = row[lane] * gain
                        value = scaled + input1[lane]
                        input1[lane] = scaled
                        if twice:
                            summed = value
                            value = summed + sum1[lane]
                            sum1[lane] = summed
                        if step == 1:
                            value = (value - output2[lane] * a2) - output1[lane] * a1
                        else:
                            value = value - (output1[lane] * a1 + output2[lane] * a2)
                        output2[lane] = output1[lane]
                        output1[lane] = value
                        row[lane] = value
            for j in range(n):
                row = work[j]
                for lane in range(LANES):
                    row[lane] += rest[lane]
        for lane in range(min(LANES, count - first)):
            curve = curves[first + lane]
            for j in range(n):
                curve[j] = work[j, lane]
