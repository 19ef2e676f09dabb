// The peer for zero-copy and for both directions at once, in CUDA C++.
//
//   nvcc -O3 -arch=sm_90 benches/peers/zero_copy.cu -o zero_copy && ./zero_copy 268435456
//
// Prints lines of a name, a number of blocks (0 where there is none) and a median in GB/s (1e9 bytes per second):
//   read, write   a kernel of 256 threads a block on mapped memory, 16 bytes an access, four reads in flight
//   h2d, d2h      cudaMemcpyAsync from and to pinned memory
//   both          one copy each way on two streams; the bytes of both over the span of both
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                         \
    do {                                                                                    \
        cudaError_t error = (call);                                                         \
        if (error != cudaSuccess) {                                                         \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));             \
            std::exit(1);                                                                   \
        }                                                                                   \
    } while (0)

static const int RUNS = 13, WARMUP = 3, THREADS = 256;

__device__ static unsigned total(uint4 v) { return v.x + v.y + v.z + v.w; }

__global__ void read_all(const uint4 *from, unsigned *sum, size_t quads) {
    size_t step = size_t(gridDim.x) * blockDim.x, i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    unsigned s = 0;
    for (; i + 3 * step < quads; i += 4 * step) {
        uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
        s += total(a) + total(b) + total(c) + total(d);
    }
    for (; i < quads; i += step) s += total(from[i]);
    atomicAdd(sum, s);
}

__global__ void write_all(uint4 *to, size_t quads, unsigned seed) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < quads; i += step) {
        unsigned w = unsigned(4 * i) ^ seed;
        to[i] = make_uint4(w, w + 1, w + 2, w + 3);
    }
}

// Holds a stream until the host has filled it.
__global__ void spin(long long nanoseconds) {
    long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}

static double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

static void wrong(const char *what) {
    std::fprintf(stderr, "%s: a wrong result\n", what);
    std::exit(1);
}

// The median rate of what `work` enqueues on the stream.
template <class Work, class After>
static double rate(cudaStream_t stream, size_t bytes, Work work, After after) {
    cudaEvent_t before, behind;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&behind));
    std::vector<double> samples;
    for (int run = 0; run < RUNS; run++) {
        spin<<<1, 1, 0, stream>>>(300000);
        CHECK(cudaEventRecord(before, stream));
        work();
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(behind, stream));
        CHECK(cudaEventSynchronize(behind));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, before, behind));
        after();
        if (run >= WARMUP) samples.push_back(bytes / (milliseconds * 1e-3) / 1e9);
    }
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(behind));
    return median(samples);
}

// Both streams start after one event; a third waits for both ends.
static double both(void *host_in, void *device_in, void *host_out, void *device_out, size_t bytes) {
    cudaStream_t gate, in, out;
    cudaEvent_t before, behind, ends[2];
    CHECK(cudaStreamCreateWithFlags(&gate, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    for (cudaEvent_t *event : {&before, &behind, &ends[0], &ends[1]}) CHECK(cudaEventCreate(event));
    std::vector<double> samples;
    for (int run = 0; run < RUNS; run++) {
        spin<<<1, 1, 0, gate>>>(300000);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(before, gate));
        CHECK(cudaStreamWaitEvent(in, before, 0));
        CHECK(cudaStreamWaitEvent(out, before, 0));
        CHECK(cudaMemcpyAsync(device_in, host_in, bytes, cudaMemcpyHostToDevice, in));
        CHECK(cudaMemcpyAsync(host_out, device_out, bytes, cudaMemcpyDeviceToHost, out));
        CHECK(cudaEventRecord(ends[0], in));
        CHECK(cudaEventRecord(ends[1], out));
        CHECK(cudaStreamWaitEvent(gate, ends[0], 0));
        CHECK(cudaStreamWaitEvent(gate, ends[1], 0));
        CHECK(cudaEventRecord(behind, gate));
        CHECK(cudaEventSynchronize(behind));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, before, behind));
        if (run >= WARMUP) samples.push_back(2.0 * bytes / (milliseconds * 1e-3) / 1e9);
    }
    return median(samples);
}

int main(int argc, char **argv) {
    size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : size_t(256) << 20) / 16 * 16, quads = bytes / 16;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned *mapped, *other, *sum;
    uint4 *view;
    void *device[2];
    CHECK(cudaHostAlloc(&mapped, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    CHECK(cudaHostAlloc(&other, bytes, cudaHostAllocPortable));
    CHECK(cudaHostGetDevicePointer(&view, mapped, 0));
    CHECK(cudaMallocManaged(&sum, sizeof *sum));
    for (void *&side : device) CHECK(cudaMalloc(&side, bytes));

    for (unsigned blocks = 1; blocks <= 1024; blocks *= 2) {
        unsigned expected = 0;
        for (size_t i = 0; i < bytes / 4; i++) expected += mapped[i] = unsigned(i) * 2654435761u ^ blocks;
        *sum = 0;
        double read = rate(stream, bytes, [&] { read_all<<<blocks, THREADS, 0, stream>>>(view, sum, quads); },
                           [&] {
                               if (*sum != expected) wrong("read");
                               *sum = 0;
                           });
        std::printf("read %u %.2f\n", blocks, read);
        double write = rate(stream, bytes, [&] { write_all<<<blocks, THREADS, 0, stream>>>(view, quads, blocks); }, [] {});
        for (size_t i = 0; i < bytes / 4; i++)
            if (mapped[i] != (unsigned(i & ~size_t(3)) ^ blocks) + unsigned(i & 3)) wrong("write");
        std::printf("write %u %.2f\n", blocks, write);
    }
    double h2d = rate(stream, bytes, [&] { CHECK(cudaMemcpyAsync(device[0], mapped, bytes, cudaMemcpyHostToDevice, stream)); }, [] {});
    double d2h = rate(stream, bytes, [&] { CHECK(cudaMemcpyAsync(other, device[0], bytes, cudaMemcpyDeviceToHost, stream)); }, [] {});
    if (!std::equal(mapped, mapped + bytes / 4, other)) wrong("copies");
    CHECK(cudaMemcpy(device[1], mapped, bytes, cudaMemcpyHostToDevice));
    std::fill(other, other + bytes / 4, 0u);
    double sum_of_both = both(mapped, device[0], other, device[1], bytes);
    if (!std::equal(mapped, mapped + bytes / 4, other)) wrong("both");
    std::printf("h2d 0 %.2f\nd2h 0 %.2f\nboth 0 %.2f\n", h2d, d2h, sum_of_both);
    return 0;
}
