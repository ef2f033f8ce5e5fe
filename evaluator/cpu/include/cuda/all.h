// All of libcu++ that the CPU device has. libcu.h includes it behind the rewriter.
#pragma once
#include "barrier.h"
