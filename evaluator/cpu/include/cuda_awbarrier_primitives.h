#error kforge-unsupported: asynchronous barriers
