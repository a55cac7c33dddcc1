// The peak of scalar arithmetic, for benchmarks/rigid_body.py: eight chains of fused products and sums, no vectors
// (compiled without them). Returns a number that depends on all of it; 16 operations a turn.
#include <stdint.h>

double scalar_chains(int64_t turns, double x, double y) {
  double a = 0.1, b = 0.2, c = 0.3, d = 0.4, e = 0.5, f = 0.6, g = 0.7, h = 0.8;
  for (int64_t k = 0; k < turns; ++k) {
    a = __builtin_fma(a, x, y), b = __builtin_fma(b, x, y), c = __builtin_fma(c, x, y), d = __builtin_fma(d, x, y);
    e = __builtin_fma(e, x, y), f = __builtin_fma(f, x, y), g = __builtin_fma(g, x, y), h = __builtin_fma(h, x, y);
  }
  return a + b + c + d + e + f + g + h;
}
