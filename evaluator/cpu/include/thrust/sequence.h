#error kforge-unsupported: CUB, Thrust or libcu++
