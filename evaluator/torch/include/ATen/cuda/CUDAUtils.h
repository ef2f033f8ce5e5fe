#pragma once
#include "kforge_torch_cuda.h"
