#error kforge-unsupported: textures and surfaces
