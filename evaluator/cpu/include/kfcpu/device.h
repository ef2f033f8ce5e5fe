// Everything that device code may use without an #include, as with nvcc. cuda_runtime.h includes
// this file.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "builtins.h"
#include "launch.h"
#include "sync.h"
#include "atomics.h"
#include "integers.h"
#include "rounding.h"
#include "floats.h"
#include "memory.h"
#include "print.h"
#include <assert.h>
