# task: relu; kforge: wrong_result stream.unordered
# Replays a graph on a side stream that never waited for the current stream.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.graph, self.input, self.output = None, None, None

    def forward(self, x):
        if self.graph is None:
            self.input = x.clone()
            torch.relu(self.input)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.output = torch.relu(self.input)
        with torch.cuda.stream(self.side):
            self.input.copy_(x)
            self.graph.replay()
            result = self.output.clone()
        torch.cuda.current_stream().wait_stream(self.side)
        return result
