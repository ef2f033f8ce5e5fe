// Collectives of a warp, or of a part of one.
#pragma once
#include "operators.h"

namespace cub
{

// The lanes of the calling thread's logical warp.
template <int THREADS> struct KfcpuWarp {
    unsigned lane, first, mask;
    KfcpuWarp()
    {
        unsigned own = ::kfcpu::lane();
        lane = own % THREADS, first = own - lane;
        mask = THREADS >= 32 ? 0xffffffffu : ((1u << (THREADS % 32)) - 1) << first;
    }
    template <class T> T get(const T &value, unsigned rank) const
    {
        return KfcpuShuffle(mask, value, first + rank);
    }
    // Lanes of this warp that vote yes, from bit 0.
    unsigned ballot(bool yes) const { return (__ballot_sync(mask, yes) & mask) >> first; }
};

template <class T, int THREADS = 32, int = 0> class WarpReduce
{
    // Reduces lanes up to `last`.
    template <class Op> T reduce(T value, Op op, unsigned last)
    {
        for (unsigned step = 1; step < THREADS; step *= 2) {
            bool has = warp_.lane + step <= last;
            T other = warp_.get(value, has ? warp_.lane + step : warp_.lane);
            if (has && warp_.lane % (2 * step) == 0) value = op(value, other);
        }
        return value;
    }
    // A head starts a segment, a tail ends one.
    template <bool head, class Flag, class Op> T segmented(T value, Flag flag, Op op)
    {
        unsigned flags = warp_.ballot(flag != 0), last = THREADS - 1;
        for (unsigned i = warp_.lane + (head ? 1 : 0); i < THREADS; i++)
            if (flags >> i & 1) {
                last = head ? i - 1 : i;
                break;
            }
        for (unsigned step = 1; step < THREADS; step *= 2) {
            bool has = warp_.lane + step <= last;
            T other = warp_.get(value, has ? warp_.lane + step : warp_.lane);
            if (has) value = op(value, other);
        }
        return value;
    }
    KfcpuWarp<THREADS> warp_;

  public:
    struct TempStorage {
        unsigned char unused;
    };
    WarpReduce(TempStorage &) {}
    template <class Op> T Reduce(T value, Op op) { return reduce(value, op, THREADS - 1); }
    template <class Op> T Reduce(T value, Op op, int valid)
    {
        return reduce(value, op, (unsigned)valid - 1);
    }
    T Sum(T value) { return Reduce(value, ::cub::Sum()); }
    T Sum(T value, int valid) { return Reduce(value, ::cub::Sum(), valid); }
    T Max(T value) { return Reduce(value, ::cub::Max()); }
    T Max(T value, int valid) { return Reduce(value, ::cub::Max(), valid); }
    T Min(T value) { return Reduce(value, ::cub::Min()); }
    T Min(T value, int valid) { return Reduce(value, ::cub::Min(), valid); }
    template <class Flag, class Op> T HeadSegmentedReduce(T value, Flag head, Op op)
    {
        return segmented<true>(value, head, op);
    }
    template <class Flag> T HeadSegmentedSum(T value, Flag head)
    {
        return segmented<true>(value, head, ::cub::Sum());
    }
    template <class Flag, class Op> T TailSegmentedReduce(T value, Flag tail, Op op)
    {
        return segmented<false>(value, tail, op);
    }
    template <class Flag> T TailSegmentedSum(T value, Flag tail)
    {
        return segmented<false>(value, tail, ::cub::Sum());
    }
};

template <class T, int THREADS = 32, int = 0> class WarpScan
{
    KfcpuWarp<THREADS> warp_;
    template <class Op> T inclusive(T value, Op op)
    {
        for (unsigned step = 1; step < THREADS; step *= 2) {
            T other = warp_.get(value, warp_.lane >= step ? warp_.lane - step : warp_.lane);
            if (warp_.lane >= step) value = op(other, value);
        }
        return value;
    }
    T before(T inclusive) { return warp_.get(inclusive, warp_.lane ? warp_.lane - 1 : 0); }

  public:
    struct TempStorage {
        unsigned char unused;
    };
    WarpScan(TempStorage &) {}
    template <class Op> void InclusiveScan(T in, T &out, Op op) { out = inclusive(in, op); }
    template <class Op> void InclusiveScan(T in, T &out, Op op, T &aggregate)
    {
        out = inclusive(in, op);
        aggregate = warp_.get(out, THREADS - 1);
    }
    void InclusiveSum(T in, T &out) { InclusiveScan(in, out, ::cub::Sum()); }
    void InclusiveSum(T in, T &out, T &aggregate)
    {
        InclusiveScan(in, out, ::cub::Sum(), aggregate);
    }
    // Without an initial value, the first lane's result is not specified.
    template <class Op> void ExclusiveScan(T in, T &out, Op op) { out = before(inclusive(in, op)); }
    template <class Op> void ExclusiveScan(T in, T &out, T initial, Op op)
    {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate);
    }
    template <class Op> void ExclusiveScan(T in, T &out, Op op, T &aggregate)
    {
        T all = inclusive(in, op);
        out = before(all);
        aggregate = warp_.get(all, THREADS - 1);
    }
    template <class Op> void ExclusiveScan(T in, T &out, T initial, Op op, T &aggregate)
    {
        T all = inclusive(in, op), other = before(all);
        out = warp_.lane ? T(op(initial, other)) : initial;
        aggregate = warp_.get(all, THREADS - 1);
    }
    void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), ::cub::Sum()); }
    void ExclusiveSum(T in, T &out, T &aggregate)
    {
        ExclusiveScan(in, out, T(), ::cub::Sum(), aggregate);
    }
    template <class Op> void Scan(T in, T &inclusive_out, T &exclusive_out, Op op)
    {
        inclusive_out = inclusive(in, op);
        exclusive_out = before(inclusive_out);
    }
    template <class Op> void Scan(T in, T &inclusive_out, T &exclusive_out, T initial, Op op)
    {
        T all = inclusive(in, op), other = before(all);
        inclusive_out = op(initial, all);
        exclusive_out = warp_.lane ? T(op(initial, other)) : initial;
    }
    T Broadcast(T value, unsigned lane) { return warp_.get(value, lane); }
};

} // namespace cub
