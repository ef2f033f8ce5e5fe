#include "serve.h"

const kf_route kf_serve_flashinfer_routes[] = {{0}};
