// thrust::complex, which is the C++ library's.
#pragma once
#include <complex>
#include "thrust.h"

namespace thrust
{
template <class T> using complex = std::complex<T>;
} // namespace thrust
