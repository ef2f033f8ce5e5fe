#error kforge-unsupported: 4-bit floating types
