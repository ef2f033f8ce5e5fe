// Switches from one fiber to another.
//
// A fiber that was left holds the address where it continues at the top of its stack. On x86-64
// there are two ways to leave a fiber:
//
// kfcpu_switch(save, to) is an ordinary function for the compiler. It saves the registers that a
// called function must keep, and continues in kfcpu_resume.
//
// kfcpu_pass and kfcpu_rest are called by inline assembly in the candidate (kfcpu/builtins.h). This
// assembly says that no register survives. So the compiler keeps live values in the frame, mostly a
// few words, and nothing is saved here. Both kinds of fibers can be continued from either kind.
//
// kfcpu_pass is the arrival of a thread (edi) at __syncthreads. In a round of barriers, which is
// the usual case, the next thread runs, with its stack pointer in worker->sp.
// kfcpu_choose_at_barrier decides all other cases. The stack of the thread after the next one is
// prefetched, because 256 stacks do not fit into the first-level cache. The switch is a jump, not a
// return: a return would be predicted to go where this function was called from, but processors
// learn the target of a jump.
//
// kfcpu_rest is called by the loop over threads when no thread is left to start, like
// kfcpu_threads_done. kfcpu_fiber_start is where a fiber begins, with its argument in a
// callee-saved register.
#include "exec_offsets.h"

#if defined(__x86_64__)
    .text
    .globl kfcpu_pass
    .type kfcpu_pass, @function
    .p2align 5
kfcpu_pass:
    movq kfcpu_self@GOTTPOFF(%rip), %rax
    movq %fs:(%rax), %rax
    movl WORKER_ROUND(%rax), %ecx
    leal -1(%rcx), %edx
    cmpl WORKER_LAST(%rax), %edx // not below: the last thread of the round, or no round
    jae 1f
    incl WORKER_ROUND(%rax)
    movq %rsp, WORKER_SP-8(%rax,%rcx,8)
    movq WORKER_SP+8(%rax,%rcx,8), %rdx
    movq WORKER_SP(%rax,%rcx,8), %rsp
    prefetcht0 (%rdx)
    prefetcht0 64(%rdx)
    popq %rax
    jmp *%rax
1:  movq %rsp, %rsi
    andq $-16, %rsp
    call kfcpu_choose_at_barrier
    movq %rax, %rsp
    popq %rax
    jmp *%rax
    .size kfcpu_pass, .-kfcpu_pass

    .globl kfcpu_rest
    .type kfcpu_rest, @function
    .p2align 4
kfcpu_rest:
    movq %rsp, %rdi
    andq $-16, %rsp
    call kfcpu_choose_at_end
    movq %rax, %rsp
    popq %rax
    jmp *%rax
    .size kfcpu_rest, .-kfcpu_rest

    .globl kfcpu_switch
    .hidden kfcpu_switch
    .type kfcpu_switch, @function
    .globl kfcpu_resume
    .hidden kfcpu_resume
    .p2align 4
kfcpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    leaq kfcpu_resume(%rip), %rax
    pushq %rax
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %rax
    jmp *%rax
kfcpu_resume:
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size kfcpu_switch, .-kfcpu_switch

    .globl kfcpu_fiber_start
    .hidden kfcpu_fiber_start
    .type kfcpu_fiber_start, @function
kfcpu_fiber_start:
    .cfi_startproc
    .cfi_undefined rip
    movq %rbx, %rdi
    call kfcpu_fiber_main
    ud2
    .cfi_endproc
    .size kfcpu_fiber_start, .-kfcpu_fiber_start

#elif defined(__aarch64__)
    .text
    .globl kfcpu_switch
    .hidden kfcpu_switch
    .type kfcpu_switch, %function
    .p2align 4
kfcpu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size kfcpu_switch, .-kfcpu_switch

    .globl kfcpu_fiber_start
    .hidden kfcpu_fiber_start
    .type kfcpu_fiber_start, %function
kfcpu_fiber_start:
    mov x0, x19
    bl kfcpu_fiber_main
    brk #0
    .size kfcpu_fiber_start, .-kfcpu_fiber_start
#else
#error "the CPU device needs a context switch for this processor"
#endif

    .section .note.GNU-stack, "", %progbits
