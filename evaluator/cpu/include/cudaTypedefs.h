#error kforge-unsupported: the tensor memory accelerator (TMA)
