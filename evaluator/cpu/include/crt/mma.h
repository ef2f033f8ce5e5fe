#error kforge-unsupported: tensor cores (nvcuda::wmma)
