// All of CUB that the CPU device has. cub.cuh includes it behind the rewriter.
#pragma once
#include "../cuda/std/all.h"
#include "block.h"
#include "device.h"
#include "warp.h"
