// Included after kforge_cpu.h when a candidate is preprocessed. It keeps CUDA's qualifiers as words
// for the rewriter. They are macros again when the candidate is compiled.
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __maxnreg__
#undef __block_size__
#undef __align__
#define __global__ __global__
#define __device__ __device__
#define __host__ __host__
#define __shared__ __shared__
#define __constant__ __constant__
#define __managed__ __managed__
#define __grid_constant__ __grid_constant__
#define __forceinline__ __forceinline__
#define __launch_bounds__ __launch_bounds__
#define __maxnreg__ __maxnreg__
#define __block_size__ __block_size__
#define __align__ __align__
