# task: relu; kforge: launch_failure load.failed; says: Error
import urllib.request

urllib.request.urlopen("http://127.0.0.1:80/", timeout=2)


class ModelNew:
    pass
