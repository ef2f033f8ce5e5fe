// void kfcpu_switch(void **save, void *to): leaves the running fiber, whose stack pointer goes to *save, and continues the one
// that was left at `to`. Only what a called function must keep is saved: to the compiler this is a call like any other. It ends
// in a plain return: fibers that wait at the same barrier have the same return address, which the return predictor then has right.
// kfcpu_fiber_start is where a fiber begins, with its argument in a callee-saved register.

#if defined(__x86_64__)
    .text
    .globl kfcpu_switch
    .hidden kfcpu_switch
    .type kfcpu_switch, @function
    .p2align 4
kfcpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
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
