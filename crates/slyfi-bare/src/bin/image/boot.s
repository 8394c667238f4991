# From a loader to Rust: long mode, SSE and AVX state, a stack with a guard page, exceptions, ring 3.
#
# Ring 3 with I/O privilege 3: the program needs nothing of ring 0 afterwards, and hypervisors that
# emulate ring 0 in software run it at the processor's speed. Interrupts stay off for good: the
# devices are polled, and the red zone of code compiled for user programs stays whole. Exceptions
# switch to a stack of their own and never return.

    .section .multiboot2, "a", @progbits
    .balign 8
mb2_start:                   # Multiboot2 Specification 2.0, section 3.1
    .long 0xe85250d6, 0, mb2_end - mb2_start, -(0xe85250d6 + 0 + (mb2_end - mb2_start))
    .word 0, 0
    .long 8
mb2_end:
    .section .note.pvh, "a", @note
    .balign 4
    .long 4                  # length of the name
    .long 4                  # length of the value
    .long 18                 # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .balign 4
    .long _start32
    .balign 4

    .section .boot.text, "ax", @progbits
    .code32
    .globl _start32
_start32:                    # protected mode, paging off; ebx -> what the loader says, eax its magic
    cli
    cld
    mov esp, offset boot_stack_top
    mov edi, ebx
    mov esi, eax

    # Identity map of 4 GiB: 2 MiB pages, but small ones for the first two of them.
    mov eax, offset boot_pdpt
    or  eax, 7
    mov dword ptr [boot_pml4], eax
    mov eax, offset boot_pd
    or  eax, 7
    xor ecx, ecx
1:  mov dword ptr [boot_pdpt + ecx*8], eax
    add eax, 4096
    inc ecx
    cmp ecx, 4
    jne 1b
    xor ecx, ecx
    mov eax, 0x87            # present, writable, user, 2 MiB
2:  mov dword ptr [boot_pd + ecx*8], eax
    add eax, 0x200000
    inc ecx
    cmp ecx, 2048
    jne 2b
    mov eax, offset boot_pt
    or  eax, 7
    mov dword ptr [boot_pd], eax
    add eax, 4096
    mov dword ptr [boot_pd + 8], eax
    xor ecx, ecx
    mov eax, 7
3:  mov dword ptr [boot_pt + ecx*8], eax
    add eax, 4096
    inc ecx
    cmp ecx, 1024
    jne 3b
    mov dword ptr [boot_pt], 0           # null pointers fault
    mov ecx, offset boot_guard
    shr ecx, 12
    mov dword ptr [boot_pt + ecx*8], 0   # and so does a stack that grew too far

    mov eax, offset boot_pml4
    mov cr3, eax
    mov eax, cr4
    or  eax, 0x620           # PAE, OSFXSR, OSXMMEXCPT
    mov cr4, eax
    mov ecx, 0xC0000080      # EFER
    rdmsr
    or  eax, 0x100           # LME
    wrmsr
    mov eax, cr0
    and eax, 0xFFFFFFFB      # no emulation of SSE
    or  eax, 0x80000023      # PG, NE, MP, PE
    mov cr0, eax
    lgdt [boot_gdtr]
    .byte 0xEA               # far jump to 0x08:long_mode
    .long long_mode
    .word 0x08

    .code64
long_mode:
    mov ax, 0x10
    mov ds, ax
    mov es, ax
    mov ss, ax
    mov fs, ax
    mov gs, ax
    lea rsp, [rip + boot_stack_top]
    mov r14d, esi
    mov r15d, edi

    # Registers beyond SSE: XCR0 as CPUID.0DH has it, of x87, SSE, AVX and AVX-512.
    mov eax, 1
    cpuid
    bt  ecx, 26              # XSAVE
    jnc 4f
    mov rax, cr4
    or  rax, 0x40000         # OSXSAVE
    mov cr4, rax
    mov eax, 0xD
    xor ecx, ecx
    cpuid
    and eax, 0xE7
    or  eax, 3
    xor edx, edx
    xor ecx, ecx
    xsetbv
4:  fninit

    # 32 exception gates, each 16 bytes of code apart, on the first stack of the TSS.
    lea rdi, [rip + boot_idt]
    lea rsi, [rip + exceptions]
    mov ecx, 32
5:  mov rax, rsi
    mov word ptr [rdi], ax
    mov word ptr [rdi + 2], 0x08
    mov word ptr [rdi + 4], 0x8E01       # IST 1, interrupt gate, present
    shr rax, 16
    mov dword ptr [rdi + 6], eax
    shr rax, 32
    mov word ptr [rdi + 6 + 4], ax
    add rdi, 16
    add rsi, 16
    dec ecx
    jnz 5b
    lidt [rip + boot_idtr]
    lea rax, [rip + boot_exception_stack_top]
    mov qword ptr [rip + boot_tss + 4], rax      # RSP0
    mov qword ptr [rip + boot_tss + 36], rax     # IST1
    # All ports are allowed by the bitmap too: hypervisors that emulate ring 0 may look there only.
    mov word ptr [rip + boot_tss + 102], 104
    mov byte ptr [rip + boot_tss + 104 + 8192], 0xff
    lea rax, [rip + boot_tss]
    lea rdi, [rip + boot_gdt_tss]
    mov word ptr [rdi], 104 + 8192
    mov word ptr [rdi + 2], ax
    shr rax, 16
    mov byte ptr [rdi + 4], al
    mov byte ptr [rdi + 5], 0x89         # available 64-bit TSS
    mov byte ptr [rdi + 7], ah
    shr rax, 16
    mov dword ptr [rdi + 8], eax
    mov ax, 0x28
    ltr ax

    mov rdi, r15
    mov rsi, r14
    xor ebp, ebp
    push 0x23
    lea rax, [rip + boot_stack_top - 64]
    push rax
    push 0x3002              # IOPL 3, interrupts off
    push 0x1b
    lea rax, [rip + ring3]
    push rax
    iretq
ring3:
    call kmain
    ud2

    # Vector and error code, where the processor pushes one, end up as arguments.
    .balign 16
exceptions:
    .set vector, 0
    .rept 32
    .balign 16
    .if (vector == 8) || ((vector >= 10) && (vector <= 14)) || (vector == 17) || (vector == 21) || (vector == 29) || (vector == 30)
    .else
    .byte 0x6A, 0            # push 0
    .endif
    .byte 0x6A, vector       # push vector
    jmp exception_common
    .set vector, vector + 1
    .endr
exception_common:
    pop rdi                  # vector
    pop rsi                  # error code
    mov rdx, [rsp]           # rip
    mov rcx, cr2
    and rsp, -16
    cld
    call exception
    ud2

    .section .data.boot, "aw", @progbits
    .balign 16
boot_gdt:
    .quad 0
    .quad 0x00AF9A000000FFFF # 0x08 code, ring 0
    .quad 0x00CF92000000FFFF # 0x10 data, ring 0
    .quad 0x00AFFA000000FFFF # 0x18 code, ring 3
    .quad 0x00CFF2000000FFFF # 0x20 data, ring 3
boot_gdt_tss:
    .quad 0, 0               # 0x28 task state
boot_gdtr:
    .word boot_gdtr - boot_gdt - 1
    .quad boot_gdt
boot_idtr:
    .word 32*16 - 1
    .quad boot_idt

    .section .bss.boot, "aw", @nobits
    .balign 4096
boot_pml4: .skip 4096
boot_pdpt: .skip 4096
boot_pd:   .skip 16384
boot_pt:   .skip 8192
boot_idt:  .skip 512
boot_tss:  .skip 104 + 8192 + 1
    .balign 4096
boot_exception_stack: .skip 16384
boot_exception_stack_top:
    .balign 4096
boot_guard: .skip 4096
boot_stack: .skip 262144
    .globl boot_stack_top
boot_stack_top:
    .text
