#include <stdlib.h>
#include <string.h>

#include "kforge/list.h"
#include "scan_internal.h"

/* most different words */
#define MAX_FLAGS 512

/* Names of functions and types, as a source spells them and as a binary imports them. */
static const kf_scan_rule rules[] = {
    {"time.read", "reads a clock: for tuning, or to detect timing",
     " clock_gettime gettimeofday times getrusage cudaEventElapsedTime cuEventElapsedTime "
     "steady_clock system_clock "
     "high_resolution_clock __rdtsc __builtin_ia32_rdtsc "},
    {"process.start", "starts another program or process",
     " fork vfork clone clone3 execve execv execvp execl execlp posix_spawn system popen daemon "},
    {"process.signal", "handles or sends signals: its code may run outside of calls",
     " signal sigaction sigqueue setitimer alarm timer_create timer_settime raise kill tgkill "
     "tkill sigaltstack siglongjmp "
     "__sigsetjmp "},
    {"process.trace", "accesses other processes",
     " ptrace process_vm_readv process_vm_writev pidfd_open pidfd_getfd kcmp "},
    {"process.exit", "ends the process, or registers code for its end",
     " exit _exit _Exit quick_exit atexit on_exit at_quick_exit abort "},
    {"thread.start", "starts host threads: the call must join them",
     " pthread_create thread jthread async thrd_create "},
    {"thread.detached", "detaches a host thread", " detach pthread_detach "},
    {"memory.map", "maps memory or changes its protection",
     " mmap mmap64 mprotect mremap madvise userfaultfd memfd_create shmget shmat shm_open "
     "remap_file_pages "},
    {"system.call", "calls the kernel by number", " syscall "},
    {"code.load", "loads code at run time",
     " dlopen dlmopen dlsym dlvsym dl_iterate_phdr cuModuleLoad cuModuleLoadData "
     "cuModuleLoadDataEx cuModuleLoadFatBinary "
     "cuLibraryLoadData "
     "cuLibraryLoadFromFile cudaLibraryLoadData cudaLibraryLoadFromFile cuLinkCreate cuLinkAddData "
     "nvrtcCreateProgram "
     "nvrtcCompileProgram "
     "nvPTXCompilerCompile cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion "
     "cuGetProcAddress "},
    {"file.open", "opens files",
     " fopen fopen64 open open64 openat creat opendir readdir ifstream ofstream fstream freopen "},
    {"network", "opens sockets or looks up names",
     " socket socketpair connect bind listen accept sendmsg recvmsg getaddrinfo gethostbyname "},
    {"environment", "reads or changes the environment",
     " getenv secure_getenv setenv putenv environ "},
    {"stream.side", "makes its own streams: the call must join them before it returns",
     " cudaStreamNonBlocking cudaStreamCreateWithFlags cudaStreamCreateWithPriority "
     "cudaStreamCreate cudaStreamPerThread "},
    {"stream.host_function", "makes the stream call the host",
     " cudaLaunchHostFunc cudaStreamAddCallback cuLaunchHostFunc "},
    {"graph", "uses graphs: they keep the pointers of their capture",
     " cudaGraphLaunch cudaGraphInstantiate cudaGraphInstantiateWithFlags cudaStreamBeginCapture "},
    {"cache.persisting", "reserves part of the second-level cache",
     " cudaLimitPersistingL2CacheSize accessPolicyWindow cudaAccessPropertyPersisting "
     "cudaCtxResetPersistingL2Cache "},
    {"device.reset", "resets the device", " cudaDeviceReset cuDevicePrimaryCtxReset cuCtxDestroy "},
    {"state.kept", "uses containers by key: they may keep results between calls",
     " unordered_map unordered_set map set multimap "},
    {"precision.low", "computes with fewer bits than f32",
     " __half __half2 half half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 "
     "__float2half __float2half_rn __hadd __hmul "
     "__hfma __hfma2 "
     "__float2bfloat16 __nv_fp8_e4m3 __nv_fp8_e5m2 __float_to_tf32 tf32 precision "},
    {"library", "uses a vendor's library",
     " cublasCreate_v2 cublasSgemm_v2 cublasGemmEx cublasLtMatmul cublasSgemm cudnnCreate "
     "cufftExecC2C cusparseSpMM "
     "cusolverDnCreate "},
};

const kf_scan_rule *kf_scan_name(const char *name, size_t size)
{
    if (!size || size >= KF_SCAN_WORD - 2) return NULL;
    char wanted[KF_SCAN_WORD];
    wanted[0] = ' ';
    memcpy(wanted + 1, name, size);
    wanted[size + 1] = ' ';
    wanted[size + 2 < sizeof wanted ? size + 2 : size + 1] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(rules[i].words, wanted)) return &rules[i];
    return NULL;
}

bool kf_scan_add(kf_scan_found *found, const char *rule, const char *text, const char *word,
                 size_t size, long line)
{
    char clean[KF_SCAN_WORD];
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < sizeof clean; i++)
        clean[used++] = word[i] >= ' ' && word[i] < 127 ? word[i] : '?';
    clean[used] = '\0';
    for (size_t i = 0; i < found->count; i++)
        if (found->list[i].rule == rule && strcmp(found->list[i].word, clean) == 0) {
            found->list[i].count++;
            return true;
        }
    if (found->count == MAX_FLAGS) return true;
    if (!kf_list_grow(&found->list, found->count)) return false;
    kf_scan_flag *flag = &found->list[found->count++];
    *flag = (kf_scan_flag){.rule = rule, .text = text, .line = line, .count = 1};
    memcpy(flag->word, clean, sizeof clean);
    return true;
}

void kf_scan_finish(kf_scan_found *found, kf_scan_report *report, void *context)
{
    for (size_t i = 0; report && i < found->count; i++) report(context, &found->list[i]);
    free(found->list);
    *found = (kf_scan_found){0};
}
