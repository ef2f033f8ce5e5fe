"""Makes a problem smaller: chooses which module-level constants to halve, and how often, until the
problem is below a number of elements and operations.

The search is greedy. Each step halves the largest constant that makes the problem noticeably
smaller and still lets it work. Constructor and forward must work: on tensors without storage if
PyTorch has the shape rules, or for real once the problem is small. A constant that cannot be halved
further (24 channels in 8 groups) stays. If halving one constant breaks the problem, halving it
together with another constant of equal value is tried.

Without shape rules a large problem shrinks unproven, by its inputs and weights alone, until a call
is quick. If none is quick then, the problem stays as it is.
"""
import load
import meta

MOST_STEPS = 200
# Of the cost. A step that saves less only makes pictures smaller while weights stay, down to one
# pixel, of which a batch norm leaves nothing.
WORTH = 0.99
REAL_ELEMENTS = 1 << 22  # below this a forward is run for real where there are no shape rules
REAL_SECONDS = 0.5  # of processor time for it
MOST_KEPT = 8  # constants that are tried as the only one to keep its value


class Found:
    def __init__(self, patches, elements, flops):
        self.patches, self.elements, self.flops = patches, elements, flops


def _size(path, patches, options):
    """Returns meta.Size of the problem under the patches; None if it does not describe. Its
    outputs are None if it is large, or slow, and has no shape rules."""
    try:
        problem = load.Problem.read(path, patches, options.class_name)
        size = meta.size(problem, options)
    except load.LoadError:
        return None
    if size is None or size.broken:
        return None
    try:
        if (
            size.outputs is None
            and size.elements <= REAL_ELEMENTS
            and not meta.run_for_real(problem, options, size, REAL_SECONDS)
        ):
            return None
    except meta.TooSlow:
        size.slow = True
    if any(0 in t.shape for t in size.tensors()):
        return None
    return size


def _cost(size, most_elements, most_flops):
    """Returns how far the size is above the limits: over 1 if a limit is exceeded."""
    cost = max(size.elements / most_elements, (size.flops or 0) / most_flops)
    # An unproven one has to shrink further, whatever its elements.
    return max(cost, 1 + size.elements / REAL_ELEMENTS) if size.outputs is None else cost


def _is_better(smaller, size, most_elements, most_flops):
    """True if a step is worth it. Fewer operations count in a slow call. Of one without a count
    only the next ones tell."""
    if size.slow and not size.operations:
        return True
    return (
        _cost(smaller, most_elements, most_flops) <= WORTH * _cost(size, most_elements, most_flops)
        or size.slow
        and smaller.operations < WORTH * size.operations
    )


def _state(size):
    return [tuple(t.shape) for t in size.state.values()]


def shrink(path, patches, options, *limits, **choices):
    """Returns what `searched` finds. If a real call fails there, since shape rules do not know each
    condition (an output padding below the stride), keeps one of the halved constants that makes it
    work, smallest first."""
    found = searched(path, patches, options, *limits, **choices)
    if found.patches == patches or _runs(path, found, options):
        return found
    numbers = load.Problem.read(path, patches, options.class_name).numbers()
    changed = [n for n, v in found.patches.items() if patches.get(n) != v and n in numbers]
    for name in sorted(changed, key=lambda n: patches.get(n, numbers[n]))[:MOST_KEPT]:
        other = searched(path, patches, options, *limits, **choices, kept=(name,))
        if _runs(path, other, options):
            return other
    return found


def _runs(path, found, options):
    """False if a call at a size that is quick fails."""
    if not found.elements or found.elements > REAL_ELEMENTS:
        return True
    problem = load.Problem.read(path, found.patches, options.class_name)
    try:
        return meta.run_for_real(problem, options, meta.Size([], {}), REAL_SECONDS)
    except meta.TooSlow:
        return True


def searched(
    path,
    patches,
    options,
    most_elements,
    most_flops,
    keep_state=False,
    keep_names=False,
    literals=False,
    kept=(),
):
    """Returns the patches that make the problem as large as allowed, beginning with the given ones.
    `keep_state`: keeps the shapes of its weights. `keep_names`: keeps the set of weights, which may
    depend on the number of layers, or on channels that differ. `literals`: halves numbers without a
    name, too. `kept`: names of constants that stay. Never fails: the rest stays as it is."""
    problem = load.Problem.read(path, patches, options.class_name)
    numbers = problem.numbers() if literals else problem.constants()
    numbers.update((n, v) for n, v in patches.items() if n in numbers)
    constants = {name: value for name, value in numbers.items() if value >= 2 and name not in kept}
    size = _size(path, patches, options)
    current = dict(patches)
    # unworthy: locked constants that work, and the step before which halving was not worth it
    locked, unworthy, steps = set(), {}, 0
    for _ in range(MOST_STEPS):
        if size is None or _cost(size, most_elements, most_flops) <= 1:
            break
        names = sorted(
            (n for n in constants if n not in locked and constants[n] >= 2),
            key=lambda n: -constants[n],
        )
        if not names:  # The share of the unworthy ones has grown since.
            again = {n for n, step in unworthy.items() if step < steps}
            if not again:
                break
            locked -= again
            unworthy = {n: step for n, step in unworthy.items() if n not in again}
            continue
        found = None
        # A call that takes too long says nothing of by how much.
        parts = 8 if size.slow and constants[names[0]] >= 64 else 2
        for name in names:
            works = False
            partners = [n for n in names if n != name and constants[n] == constants[name]]
            for group in (
                [[name]]
                + [[name, p] for p in partners]
                + ([[name] + partners] if len(partners) > 1 else [])
            ):
                trial = dict(current, **{n: max(1, constants[n] // parts) for n in group})
                smaller = _size(path, trial, options)
                if smaller is not None and (
                    keep_state
                    and _state(smaller) != _state(size)
                    or keep_names
                    and list(smaller.state) != list(size.state)
                ):
                    continue
                works = works or smaller is not None
                if smaller is not None and _is_better(smaller, size, most_elements, most_flops):
                    found = (group, trial, smaller)
                    break
            if found:
                break
            locked.add(name)
            if works:
                unworthy[name] = steps
        if not found:
            continue
        group, current, size = found
        steps += 1
        for name in group:
            constants[name] = current[name]
    if size is not None and size.outputs is None:
        current = dict(patches)
    return Found(current, size.elements if size else None, size.flops if size else None)
