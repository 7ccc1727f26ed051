// The kernels of the lasso on a CUDA device: operations that array libraries lack.
//
// Three groups.  `count`, `pick` and `gather` select the largest of each query's n scanned
// correlations (a radix selection on the bits of a float).  `correlate` and `greatest`
// compute some of them again in float64, `residual`, `products` and `place` serve the working sets.
// `walk` solves them: one block of threads a query follows the homotopy of docs/methods/siso.md,
// (8), on the tableau (23).
//
// Arrays are row by row; a kernel's first index is the query.  The element type of the stored rows
// is ROW, given when this file is compiled.  `tableau.py` holds `walk` in NumPy, to be read first.

typedef long long i64;
typedef unsigned long long u64;

#define NEVER 2
#define WAITS 1
enum { DONE = 0, PAUSED = 1, STUCK = 3 };

// ---- the largest correlations of each query ------------------------------------------------

// Order-preserving bits of the size of a correlation.
__device__ unsigned key_of(float value, int nonnegative) {
    float size = nonnegative ? fmaxf(value, 0.0f) : fabsf(value);
    return __float_as_uint(size);
}

// Hide the columns of the working set: their correlations are known in float64.
extern "C" __global__ void hide(float* C, i64 n, const i64* ids, int W) {
    i64 query = blockIdx.x;
    for (int i = threadIdx.x; i < W; i += blockDim.x) {
        i64 id = ids[query * W + i];
        if (id >= 0) C[query * n + id] = 0.0f;
    }
}

// Histogram of the upper eleven bits of all keys above the floor (pass 0), or of the next eleven
// among those whose upper bits are `prefix` (pass 1).
extern "C" __global__ void count(const float* C, i64 n, const unsigned* floor, const unsigned* prefix,
                                 int pass, int nonnegative, int* histogram) {
    __shared__ int own[2048];
    i64 query = blockIdx.y;
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) own[i] = 0;
    __syncthreads();
    unsigned least = floor[query], upper = prefix[query];
    const float* values = C + query * n;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
        unsigned key = key_of(values[i], nonnegative);
        if (key <= least) continue;
        if (pass == 0) atomicAdd(&own[key >> 20], 1);
        else if (key >> 20 == upper) atomicAdd(&own[(key >> 9) & 2047], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2048; i += blockDim.x)
        if (own[i]) atomicAdd(&histogram[query * 2048 + i], own[i]);
}

// From the top, the bin with which there would be more than `pool`: pass 0 writes it to `prefix`
// and what lies above it to `above`; pass 1 writes `cut`, the key up to which columns are not
// listed.  Where all fit, `prefix` is all ones and `cut` is the floor.
extern "C" __global__ void pick(const int* histogram, const unsigned* floor, int pool, int pass,
                                unsigned* prefix, int* above, unsigned* cut, int queries) {
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= queries) return;
    if (pass == 1 && prefix[query] == 0xffffffffu) return;
    int total = pass ? above[query] : 0, bin = 2047;
    for (; bin >= 0; bin--) {
        int here = histogram[(i64)query * 2048 + bin];
        if (total + here > pool) break;
        total += here;
    }
    if (pass == 0) {
        prefix[query] = bin < 0 ? 0xffffffffu : (unsigned)bin;
        above[query] = total;
        cut[query] = floor[query];
    } else {
        // Not all of the bin fit, so that there is a bin of its parts with which it overflows.
        unsigned least = ((prefix[query] << 11 | (unsigned)max(bin, 0)) << 9) | 511u;
        cut[query] = max(least, floor[query]);
    }
}

// Lists of columns: those above `cut` to `best`, the others above `low` to `band`.  Counts continue
// beyond the room.
extern "C" __global__ void gather(const float* C, i64 n, const unsigned* cut, const unsigned* low,
                                  int nonnegative, int pool, int room, i64* best, int* n_best,
                                  int* band, int* n_band) {
    i64 query = blockIdx.y;
    unsigned upper = cut[query], lower = low[query];
    unsigned least = upper < lower ? upper : lower;
    const float* values = C + query * n;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
        unsigned key = key_of(values[i], nonnegative);
        if (key <= least) continue;
        if (key > upper) {
            int at = atomicAdd(&n_best[query], 1);
            if (at < pool) best[query * pool + at] = i;
        } else {
            int at = atomicAdd(&n_band[query], 1);
            if (at < room) band[query * room + at] = (int)i;
        }
    }
}

// ---- float64 ------------------------------------------------------------------------------

#define LANES 32

__device__ double over_warp(double value) {
    for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    return value;
}

__device__ double product(const ROW* row, double scale, const double* r, int K, int lane) {
    double sum = 0.0;
    for (int k = lane; k < K; k += LANES) sum += (double)row[k] * r[k];
    return over_warp(sum) * scale;
}

// a'r of the columns listed, one warp each; 0 for none (-1).
extern "C" __global__ void correlate(const ROW* A, const double* scale, const double* R, int K,
                                     const i64* ids, int listed, double* out) {
    i64 query = blockIdx.y;
    int lane = threadIdx.x % LANES, warps = gridDim.x * blockDim.x / LANES;
    for (int e = (blockIdx.x * blockDim.x + threadIdx.x) / LANES; e < listed; e += warps) {
        i64 id = ids[query * listed + e];
        double c = id < 0 ? 0.0 : product(A + id * K, scale[id], R + query * K, K, lane);
        if (lane == 0) out[query * listed + e] = c;
    }
}

// The greatest of the correlations in the band.  Doubles that are not negative are ordered like
// their bits.
extern "C" __global__ void greatest(const ROW* A, const double* scale, const double* R, int K,
                                    const int* band, const int* n_band, int room, int nonnegative,
                                    u64* out) {
    i64 query = blockIdx.y;
    int lane = threadIdx.x % LANES, warps = gridDim.x * blockDim.x / LANES;
    int listed = min(n_band[query], room);
    double most = 0.0;
    for (int e = (blockIdx.x * blockDim.x + threadIdx.x) / LANES; e < listed; e += warps) {
        i64 id = band[query * room + e];
        double c = product(A + id * K, scale[id], R + query * K, K, lane);
        most = fmax(most, nonnegative ? c : fabs(c));
    }
    if (lane == 0 && most > 0.0) atomicMax(&out[query], (u64)__double_as_longlong(most));
}

// Columns of the lasso, float64 and scaled; zeros for none (-1).
extern "C" __global__ void columns(const ROW* A, const double* scale, int K, const i64* ids, double* out) {
    i64 entry = blockIdx.x, id = ids[entry];
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        out[entry * K + k] = id < 0 ? 0.0 : (double)A[id * K + k] * scale[id];
}

// r = y - sum of x_i a_i over the working set.
extern "C" __global__ void residual(const double* Y, const double* x, const double* rows, int W, int K,
                                    double* R) {
    i64 query = blockIdx.y;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= K) return;
    const double* own = rows + query * W * K + k;
    double r = Y[query * K + k];
    // A selection instead of a branch, so that eight loads overlap.
    #pragma unroll 8
    for (int i = 0; i < W; i++) {
        double factor = x[query * W + i];
        double entry = factor != 0.0 ? own[(i64)i * K] : 0.0;
        r -= factor * entry;
    }
    R[query * K + k] = r;
}

// c = rows r over the working set, one warp a row.
extern "C" __global__ void products(const double* R, const double* rows, const i64* ids, int W, int K,
                                    double* c) {
    i64 query = blockIdx.y;
    int lane = threadIdx.x % LANES, warps = gridDim.x * blockDim.x / LANES;
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / LANES; i < W; i += warps) {
        double sum = 0.0;
        if (ids[query * W + i] >= 0) {
            const double* row = rows + (query * W + i) * K;
            for (int k = lane; k < K; k += LANES) sum += row[k] * R[query * K + k];
        }
        sum = over_warp(sum);
        if (lane == 0) c[query * W + i] = sum;
    }
}

// Write new columns e at the positions at[e] (-1: none), with row and column of the tableau.
// `came` says which new column has a position (-1: none); WN and NN are its columns (25).
extern "C" __global__ void place(double* T, double* rows, const double* columns, const double* WN,
                                 const double* NN, const int* at, const int* came, int W, int E, int K) {
    i64 query = blockIdx.y;
    int e = blockIdx.x, p = at[query * E + e];
    if (p < 0) return;
    double* tableau = T + query * W * W;
    for (int l = threadIdx.x; l < W; l += blockDim.x) {
        int other = came[query * W + l];
        double value = other < 0 ? WN[(query * W + l) * E + e] : NN[(query * E + other) * E + e];
        tableau[(i64)p * W + l] = value;
        if (other < 0) tableau[(i64)l * W + p] = value;
    }
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        rows[(query * W + p) * K + k] = columns[(query * E + e) * K + k];
}

// ---- the homotopy of one query --------------------------------------------------------------

// A sweep (23) changes the tableau by a matrix of rank one.  HELD of them are stored and
// applied together: T = stored - sum of u_k u_k' / p_k over those held.  What a pivot reads is then
// one row of the tableau and HELD vectors instead of all of it.
#define HELD 64

struct Walk {
    double *T, *panel;                 // in the device's memory: W x W, HELD x W
    double *x, *c, *db, *q, *t;        // shared by the block: W each
    double *factor, *over;             // HELD each: u_k[j] / p_k, 1 / p_k
    double *least; int *who;           // a place for every thread
    signed char *s; unsigned char *barred;
    int W, held;
};

// t = column j of the tableau.
__device__ void column(Walk& w, int j) {
    for (int k = threadIdx.x; k < w.held; k += blockDim.x) w.factor[k] = w.panel[k * w.W + j] * w.over[k];
    __syncthreads();
    for (int i = threadIdx.x; i < w.W; i += blockDim.x) {
        double value = w.T[(i64)j * w.W + i];
        #pragma unroll 8
        for (int k = 0; k < w.held; k++) value -= w.factor[k] * w.panel[k * w.W + i];
        w.t[i] = value;
    }
    __syncthreads();
}

// Apply what is held: a product of matrices, W x HELD x W, where nearly all of the arithmetic is.
__device__ void settle(Walk& w) {
    __syncthreads();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    // A warp takes 32 x 32 entries, as 4 x 4 tiles of the unit for float64 matrix products.  Of a
    // tile a lane holds row `high` and columns 2 `low`, 2 `low` + 1; of the factors, entry `low` of
    // the sum's four and row or column `high`.
    int lane = threadIdx.x % LANES, high = lane / 4, low = lane % 4, parts = w.W / 32;
    for (int m = threadIdx.x / LANES; m < parts * parts; m += blockDim.x / LANES) {
        int i0 = 32 * (m / parts), l0 = 32 * (m % parts);
        double sum[4][4][2];
        double* tile = w.T + (i64)(i0 + high) * w.W + l0 + 2 * low;
        #pragma unroll
        for (int a = 0; a < 4; a++)
            #pragma unroll
            for (int b = 0; b < 4; b++) {
                double2 two = *(double2*)(tile + (i64)8 * a * w.W + 8 * b);
                sum[a][b][0] = two.x;
                sum[a][b][1] = two.y;
            }
        for (int k0 = 0; k0 < w.held; k0 += 4) {
            bool there = k0 + low < w.held;
            const double* u = w.panel + (k0 + low) * w.W + high;
            double over = there ? -w.over[k0 + low] : 0.0, left[4], right[4];
            #pragma unroll
            for (int a = 0; a < 4; a++) {
                left[a] = there ? u[i0 + 8 * a] * over : 0.0;
                right[a] = there ? u[l0 + 8 * a] : 0.0;
            }
            #pragma unroll
            for (int a = 0; a < 4; a++)
                #pragma unroll
                for (int b = 0; b < 4; b++)
                    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                                 : "+d"(sum[a][b][0]), "+d"(sum[a][b][1])
                                 : "d"(left[a]), "d"(right[b]));
        }
        #pragma unroll
        for (int a = 0; a < 4; a++)
            #pragma unroll
            for (int b = 0; b < 4; b++)
                *(double2*)(tile + (i64)8 * a * w.W + 8 * b) = make_double2(sum[a][b][0], sum[a][b][1]);
    }
#else
    for (i64 at = threadIdx.x; at < (i64)w.W * w.W; at += blockDim.x) {
        i64 i = at / w.W, l = at % w.W;
        double sum = w.T[at];
        for (int k = 0; k < w.held; k++) sum -= w.panel[k * w.W + i] * w.over[k] * w.panel[k * w.W + l];
        w.T[at] = sum;
    }
#endif
    w.held = 0;
    __syncthreads();
}

// Sweep on column j, which t holds: into the support (way 1) or out of it (-1).
__device__ void sweep(Walk& w, int j, double way) {
    double p = w.t[j];
    for (int i = threadIdx.x; i < w.W; i += blockDim.x)
        w.panel[w.held * w.W + i] = i == j ? p - way : w.t[i];
    if (threadIdx.x == 0) {
        w.over[w.held] = 1.0 / p;
        w.T[(i64)j * w.W + j] -= 2.0 * way;
    }
    w.held++;
    __syncthreads();
    if (w.held == HELD) settle(w);
}

// The least value of all threads, for all of them; ties go to the lower number.
__device__ void least_of(Walk& w, double& value, int& who) {
    w.least[threadIdx.x] = value;
    w.who[threadIdx.x] = who;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            double other = w.least[threadIdx.x + half];
            int its = w.who[threadIdx.x + half];
            if (other < w.least[threadIdx.x] || (other == w.least[threadIdx.x] && its < w.who[threadIdx.x])) {
                w.least[threadIdx.x] = other;
                w.who[threadIdx.x] = its;
            }
        }
        __syncthreads();
    }
    value = w.least[0];
    who = w.who[0];
    __syncthreads();
}

// Column j, which t holds, leaves the support; c is where its bound is.
__device__ void leave(Walk& w, int j, double bound) {
    double p = w.t[j], qj = w.q[j], z = w.s[j] * w.db[j], f = qj / p;
    __syncthreads();
    for (int i = threadIdx.x; i < w.W; i += blockDim.x)
        if (i != j) w.q[i] -= w.t[i] * f;
    if (threadIdx.x == 0) {
        w.q[j] = p == 0.0 ? 0.0 : z - f;
        w.c[j] = w.s[j] * bound;
        w.x[j] = 0.0;
        w.s[j] = 0;
        w.barred[j] = WAITS;
    }
    sweep(w, j, -1.0);
}

// Column j, which t holds, enters with a sign and a coefficient.
__device__ void enter(Walk& w, int j, int sign, double coefficient) {
    double p = w.t[j], f = (sign * w.db[j] - w.q[j]) / p;
    __syncthreads();
    for (int i = threadIdx.x; i < w.W; i += blockDim.x)
        if (i != j) w.q[i] += w.t[i] * f;
    if (threadIdx.x == 0) {
        w.q[j] = -f;
        w.x[j] = coefficient;
        w.s[j] = (signed char)sign;
    }
    sweep(w, j, 1.0);
}

// mode: 0 skip, 1 walk, 2 build the tableau of the support x has, T being the Gram matrix.
extern "C" __global__ void __launch_bounds__(256, 2) walk(double* T_, double* panel_, double* x_, const double* c_, signed char* s_,
                                const i64* ids_, const double* level_, const double* target_,
                                const int* entries_, const int* mode_, int W, int most, int nonnegative,
                                int limit, double dependent, double* left_, int* state_, int* pivots_,
                                int* entered_) {
    extern __shared__ double room[];
    i64 query = blockIdx.x;
    int mode = mode_[query];
    if (mode == 0) return;
    Walk w;
    w.W = W; w.held = 0;
    w.T = T_ + query * W * W;
    w.panel = panel_ + query * HELD * W;
    w.x = room; w.c = w.x + W; w.db = w.c + W; w.q = w.db + W; w.t = w.q + W;
    w.factor = w.t + W; w.over = w.factor + HELD; w.least = w.over + HELD;
    w.who = (int*)(w.least + blockDim.x);
    w.s = (signed char*)(w.who + blockDim.x);
    w.barred = (unsigned char*)(w.s + W);
    double target = target_[query], level = level_[query];
    int size = 0;
    for (int i = threadIdx.x; i < W; i += blockDim.x) {
        i64 at = query * W + i;
        w.x[i] = x_[at]; w.c[i] = c_[at]; w.s[i] = s_[at];
        w.barred[i] = ids_[at] < 0 ? NEVER : 0;
        // A support column's bound is where its correlation is; others begin at the level, or at
        // their own correlation.
        double reach = nonnegative ? w.c[i] : fabs(w.c[i]);
        double b = w.s[i] ? w.s[i] * w.c[i] : fmax(level, reach * (1.0 + 1e-12));
        w.db[i] = target - b;
    }
    __syncthreads();
    for (int i = 0; i < W; i++) size += w.s[i] != 0;
    int state = STUCK, pivots = 0, entered = 0;
    double left = 1.0;
    if (mode == 2) {
        for (int j = 0; j < W; j++) {
            if (w.s[j] == 0) continue;
            column(w, j);
            bool depends = w.t[j] <= dependent;
            __syncthreads();
            if (!depends) {
                sweep(w, j, 1.0);
            } else if (threadIdx.x == 0) {
                w.x[j] = 0.0;
                w.s[j] = 0;
            }
            __syncthreads();
        }
        state = DONE;
        limit = 0;
    } else {
        // q = T z with z = s db on the support: rates of x there, of c elsewhere.
        for (int i = threadIdx.x; i < W; i += blockDim.x) w.t[i] = w.s[i] * w.db[i];
        __syncthreads();
        for (int i = threadIdx.x; i < W; i += blockDim.x) {
            double sum = 0.0;
            #pragma unroll 8
            for (int l = 0; l < W; l++) sum += (w.s[l] ? w.T[(i64)l * W + i] : 0.0) * w.t[l];
            w.q[i] = sum;
        }
        __syncthreads();
    }
    bool waiting = false;
    for (int turn = 0; turn < limit; turn++) {
        // The first event: 2 i for a coefficient that reaches zero or a correlation its bound,
        // 2 i + 1 where it reaches the negative one.
        double step = left;
        int who = -1;
        for (int i = threadIdx.x; i < W; i += blockDim.x) {
            if (w.s[i]) {
                double rate = -w.q[i] * w.s[i];
                if (rate > 0.0) {
                    double t = w.x[i] * w.s[i] / rate;
                    if (t < step) { step = t; who = 2 * i; }
                }
            } else if (!w.barred[i]) {
                double b = target - left * w.db[i];
                double up = w.q[i] - w.db[i], down = -w.q[i] - w.db[i];
                if (up > 1e-12 * b) {
                    double t = (b - w.c[i]) / up;
                    if (t < step) { step = t; who = 2 * i; }
                }
                if (!nonnegative && down > 1e-12 * b) {
                    double t = (b + w.c[i]) / down;
                    if (t < step) { step = t; who = 2 * i + 1; }
                }
            }
        }
        least_of(w, step, who);
        step = fmax(step, 0.0);
        if (step > 0.0) {
            for (int i = threadIdx.x; i < W; i += blockDim.x) {
                if (w.s[i]) w.x[i] += step * w.q[i];
                else w.c[i] += step * w.q[i];
            }
            left -= step;
        }
        if (who < 0) { state = DONE; left = 0.0; break; }
        // Ties are resolved one at a time; a column that left may only return after a positive step.
        if (step > 1e-14 && waiting) {
            for (int i = threadIdx.x; i < W; i += blockDim.x)
                if (w.barred[i] == WAITS) w.barred[i] = 0;
            waiting = false;
        }
        __syncthreads();
        int j = who / 2;
        pivots++;
        if (w.s[j]) {
            column(w, j);
            leave(w, j, target - left * w.db[j]);
            waiting = true;
            size--;
            continue;
        }
        if (entered >= entries_[query]) { state = PAUSED; break; }
        int sign = who % 2 ? -1 : 1;
        double coefficient = 0.0;
        column(w, j);
        if (size == most || w.t[j] <= dependent) {
            // The column is a combination t of the support: its coefficient grows until the first of
            // the support is zero, while the residual stays.
            double share = 1e300;
            int out = 2147483647;
            for (int i = threadIdx.x; i < W; i += blockDim.x) {
                double rate = sign * w.t[i] * w.s[i];
                if (w.s[i] && rate > 1e-9) {
                    double t = w.x[i] * w.s[i] / rate;
                    if (t < share) { share = t; out = i; }
                }
            }
            least_of(w, share, out);
            if (share >= 1e300) {
                if (threadIdx.x == 0) w.barred[j] = NEVER;
                __syncthreads();
                continue;
            }
            for (int i = threadIdx.x; i < W; i += blockDim.x)
                if (w.s[i]) w.x[i] -= share * sign * w.t[i];
            __syncthreads();
            column(w, out);
            leave(w, out, target - left * w.db[out]);
            waiting = true;
            size--;
            column(w, j);
            if (w.t[j] <= dependent) break;
            coefficient = sign * share;
        }
        enter(w, j, sign, coefficient);
        size++;
        entered++;
    }
    if (w.held) settle(w);
    __syncthreads();
    for (int i = threadIdx.x; i < W; i += blockDim.x) {
        x_[query * W + i] = w.x[i];
        s_[query * W + i] = w.s[i];
    }
    if (threadIdx.x == 0) {
        left_[query] = left; state_[query] = state; pivots_[query] = pivots; entered_[query] = entered;
    }
}
