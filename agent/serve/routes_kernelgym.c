#include "serve.h"

const kf_route kf_serve_kernelgym_routes[] = {{0}};
