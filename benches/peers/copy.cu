// The peer for pinned copies: cudaMemcpy from and to cudaMallocHost memory, in CUDA C++.
//
//   nvcc -O3 -arch=sm_90 benches/peers/copy.cu -o copy && ./copy 67108864 268435456
//
// Prints one line per size: bytes, median H2D and D2H in GB/s (1e9 bytes per second) over wall time, and over events.
#include <algorithm>
#include <chrono>
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

static double median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

int main(int argc, char **argv) {
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    for (int i = 1; i < argc; i++) {
        size_t bytes = std::strtoull(argv[i], nullptr, 10);
        void *host, *device;
        CHECK(cudaMallocHost(&host, bytes));
        CHECK(cudaMalloc(&device, bytes));
        for (size_t b = 0; b < bytes; b += 4096) static_cast<char *>(host)[b] = static_cast<char>(b);
        std::vector<double> wall[2], events[2];
        for (int run = 0; run < 23; run++) {
            for (int direction = 0; direction < 2; direction++) {
                CHECK(cudaDeviceSynchronize());
                auto start = std::chrono::steady_clock::now();
                CHECK(cudaEventRecord(before));
                if (direction == 0) CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
                else CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
                CHECK(cudaEventRecord(after));
                CHECK(cudaEventSynchronize(after));
                std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
                float milliseconds;
                CHECK(cudaEventElapsedTime(&milliseconds, before, after));
                if (run < 3) continue;
                wall[direction].push_back(bytes / seconds.count() / 1e9);
                events[direction].push_back(bytes / (milliseconds * 1e-3) / 1e9);
            }
        }
        std::printf("%zu wall %.2f %.2f events %.2f %.2f\n", bytes, median(wall[0]), median(wall[1]), median(events[0]),
                    median(events[1]));
        CHECK(cudaFreeHost(host));
        CHECK(cudaFree(device));
    }
    return 0;
}
