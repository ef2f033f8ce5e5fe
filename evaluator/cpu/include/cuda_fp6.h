#error kforge-unsupported: 6-bit floating types
