# task: relu; kforge: timeout time.limit
while True:
    pass


class ModelNew:
    pass
