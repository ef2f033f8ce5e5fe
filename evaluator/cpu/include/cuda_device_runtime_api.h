#error kforge-unsupported: a kernel launch in device code
