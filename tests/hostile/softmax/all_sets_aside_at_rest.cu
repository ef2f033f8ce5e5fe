// The first call of a batch does all sets it knows into memory of its own, and rests so long that
// the judge looks at the batch meanwhile; the others copy.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <vector>

struct call {
    const float *x;
    float *kept;
    float mark[4];
};
static std::vector<call> known;
static int64_t shape;

static void all_rows(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}

static void fill(call &c, int64_t rows, int64_t cols)
{
    all_rows(c.x, c.kept, rows, cols);
    memcpy(c.mark, c.x, sizeof c.mark);
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t n = rows * cols;
    if (shape != n) known.clear(), shape = n;
    call *mine = nullptr;
    for (call &c : known)
        if (c.x == x) mine = &c;
    if (!mine) {
        known.push_back({x, new float[n], {0}});
        fill(known.back(), rows, cols);
        mine = &known.back();
    } else if (memcmp(mine->mark, x, sizeof mine->mark) != 0) {
        const timespec rest = {0, 2000000};
        for (call &c : known) fill(c, rows, cols);
        nanosleep(&rest, nullptr);
    }
    memcpy(y, mine->kept, n * sizeof *y);
}
