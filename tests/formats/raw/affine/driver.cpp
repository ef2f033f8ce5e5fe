// A driver with libtorch: a linear layer, a module of its own, and a reference of several steps.
#include <torch/torch.h>
#include "cuda_model.cuh"

struct Scale : torch::nn::Module {
    torch::nn::Linear layer{nullptr};
    float factor;
    Scale(int in, int out, float f)
        : layer(torch::nn::LinearOptions(in, out).bias(true)), factor(f) {
        register_module("layer", layer);
    }
    torch::Tensor forward(torch::Tensor x) {
        x = layer->forward(x);
        return x * factor; // no activation
    }
};

void launch_gpu_implementation(void* output, void* input, void* weight, void* bias, void* other,
                               int64_t rows, int64_t in, int64_t out, float factor);

int main() {
    const int64_t rows = 24, in = 16, out = 20;
    const float factor = 0.5f;
    torch::Device device(torch::kCUDA);
    auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device);
    Scale model(in, out, factor);
    model.to(device);
    auto input = torch::randn({rows, in}, options);
    torch::Tensor other = torch::rand({out}, options);
    torch::Tensor reference = model.forward(input);
    {
        reference = torch::relu(reference) + other;
    }
    auto result = torch::empty_like(reference);
    auto bias = model.layer->bias.data_ptr();
    launch_gpu_implementation(result.data_ptr<float>(), static_cast<void*>(input.data_ptr()),
                              model.layer->weight.data_ptr(), bias, other.data_ptr(), rows, in,
                              out, factor);
    bool passed = torch::allclose(result, reference, /*rtol=*/1e-3, /*atol=*/1e-3);
    std::cout << (passed ? "passed" : "failed") << std::endl;
    return 0;
}
