/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command streamer of an Intel engine: memory interface (MI) commands. "Vol 2a" is the volume with the command
 * reference of Intel's Programmer's Reference Manuals for Kaby Lake and Tiger Lake. */
#include "i915_registers.h"
#include "trace.h"

#include <string.h>

enum {
    MAXIMUM_COMMANDS = 1 << 20, /* of one submission; more mean that it loops */
    LEVELS = 3,                 /* of nested batches */

    /* Opcodes of MI commands, bits 28:23. */
    BATCH_BUFFER_END = 0x0a,
    FIRST_OPCODE_WITH_LENGTH = 0x10,
    MATH = 0x1a,
    STORE_DATA_IMMEDIATE = 0x20,
    LOAD_REGISTER_IMMEDIATE = 0x22,
    STORE_REGISTER_MEMORY = 0x24,
    FLUSH = 0x26,
    LOAD_REGISTER_MEMORY = 0x29,
    LOAD_REGISTER_REGISTER = 0x2a,
    COPY_MEMORY_MEMORY = 0x2e,
    ATOMIC = 0x2f,
    BATCH_BUFFER_START = 0x31,
    CONDITIONAL_BATCH_BUFFER_END = 0x36,

    FLUSH_WRITES_IMMEDIATE = 1, /* post-synchronisation operations of MI_FLUSH_DW */
    FLUSH_WRITES_TIME = 3,
};

/* Where the streamer is. */
struct streamer {
    const struct i915_batch *batch;
    uint64_t returns[LEVELS];  /* addresses behind the starts of nested batches */
    uint64_t ends[LEVELS + 1]; /* of the objects that the batches of each level are in */
    unsigned level;
    uint64_t next;             /* address of the next command; 0 at the end */
};

/* The binding that has an address, or else NULL. */
static const struct i915_binding *binding_at(const struct i915_batch *batch, uint64_t address)
{
    unsigned low = 0, high = batch->binding_count;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (batch->bindings[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - batch->bindings[low - 1].address >= batch->bindings[low - 1].size)
        return NULL;
    return &batch->bindings[low - 1];
}

static uint64_t canonical(uint64_t address)
{
    return address & ((1ull << 48) - 1);
}

static uint8_t *memory_at(const struct i915_batch *batch, uint64_t address, size_t size)
{
    const struct i915_binding *binding = binding_at(batch, canonical(address));
    uint64_t offset = binding != NULL ? canonical(address) - binding->address : 0;

    if (binding == NULL || size > binding->size - offset || object_bytes(binding->object) == NULL)
        return NULL;
    return binding->object->bytes + binding->offset + offset;
}

static void write_memory(const struct i915_batch *batch, uint64_t address, uint64_t value, size_t size)
{
    uint8_t *memory = memory_at(batch, address, size);

    if (memory == NULL)
        trace("batch writes 0x%llx outside of its objects", (unsigned long long)address);
    else
        memcpy(memory, &value, size);
}

static uint64_t read_memory(const struct i915_batch *batch, uint64_t address, size_t size)
{
    uint8_t *memory = memory_at(batch, address, size);
    uint64_t value = 0;

    if (memory == NULL)
        trace("batch reads 0x%llx outside of its objects", (unsigned long long)address);
    else
        memcpy(&value, memory, size);
    return value;
}

static uint64_t address_in(const uint32_t *command)
{
    return command[0] | (uint64_t)command[1] << 32;
}

/* Vol 2a, MI_MATH: each dword is an instruction of the arithmetic unit. */
static void run_math(struct i915_engine *engine, const uint32_t *instructions, unsigned count)
{
    enum { SOURCE_A = 0x20, SOURCE_B = 0x21, ACCUMULATOR = 0x31, ZERO_FLAG = 0x32, CARRY_FLAG = 0x33 };
    uint64_t a = 0, b = 0, accumulator = 0, zero = 0, carry = 0;

    for (unsigned index = 0; index < count; index++) {
        uint32_t opcode = instructions[index] >> 20, first = instructions[index] >> 10 & 0x3ff;
        uint32_t second = instructions[index] & 0x3ff;
        bool inverts = opcode & 0x400;

        switch (opcode & 0x3ff) {
        case 0x080: /* LOAD, LOADINV */
        case 0x081: /* LOAD0, LOAD1 */ {
            uint64_t value = opcode & 1 ? 0 : i915_general_register(engine, second);

            *(first == SOURCE_A ? &a : &b) = inverts ? ~value : value;
            break;
        }
        case 0x100: /* ADD */
            accumulator = a + b;
            carry = accumulator < a;
            break;
        case 0x101: /* SUB */
            accumulator = a - b;
            carry = a < b;
            break;
        case 0x102:
            accumulator = a & b;
            break;
        case 0x103:
            accumulator = a | b;
            break;
        case 0x104:
            accumulator = a ^ b;
            break;
        case 0x180: /* STORE, STOREINV */ {
            uint64_t value = second == ZERO_FLAG ? -zero : second == CARRY_FLAG ? -carry : accumulator;

            i915_set_general_register(engine, first, inverts ? ~value : value);
            break;
        }
        }
        zero = accumulator == 0;
    }
}

static uint64_t atomic_result(unsigned operation, uint64_t old, uint64_t operand, uint64_t other)
{
    switch (operation) {
    case 0x01: return old & operand;
    case 0x02: return old | operand;
    case 0x03: return old ^ operand;
    case 0x04: return operand;
    case 0x05: return old + 1;
    case 0x06: return old - 1;
    case 0x07: return old + operand;
    case 0x08: return old - operand;
    case 0x09: return operand - old;
    case 0x0c: return old > operand ? old : operand;
    case 0x0d: return old < operand ? old : operand;
    case 0x0e: return old == operand ? other : old; /* compare and swap */
    default: return old;
    }
}

/* Vol 2a, MI_ATOMIC. Operands are in the command (bit 18) or in the first two general registers. */
static void run_atomic(const struct i915_batch *batch, const uint32_t *command, unsigned length)
{
    unsigned operation = command[0] >> 8 & 0xff;
    bool is_inline = command[0] & 1u << 18;
    size_t size = operation & 0x20 ? 8 : 4;
    uint64_t operand = i915_general_register(batch->engine, 0), other = i915_general_register(batch->engine, 1);

    if (is_inline && length < 11)
        return;
    if (is_inline) {
        operand = size == 8 ? address_in(command + 3) : command[3];
        other = size == 8 ? address_in(command + 5) : command[5];
    }
    uint64_t old = read_memory(batch, address_in(command + 1), size);
    write_memory(batch, address_in(command + 1), atomic_result(operation & 0x1f, old, operand, other), size);
    if (command[0] & 1u << 16)
        i915_set_general_register(batch->engine, 0, old);
}

/* Vol 2a, MI_CONDITIONAL_BATCH_BUFFER_END: whether the batch goes on. With the mask of bit 19 the dword that follows
 * the value in memory says which of its bits count. */
static bool goes_on(const struct i915_batch *batch, const uint32_t *command)
{
    uint32_t value = (uint32_t)read_memory(batch, address_in(command + 2), 4), limit = command[1];

    if (command[0] & 1u << 19)
        value &= (uint32_t)read_memory(batch, address_in(command + 2) + 4, 4);
    switch (command[0] >> 12 & 7) {
    case 0: return value > limit;
    case 1: return value >= limit;
    case 2: return value < limit;
    case 3: return value <= limit;
    case 4: return value == limit;
    default: return value != limit;
    }
}

static void leave_batch(struct streamer *streamer)
{
    streamer->next = streamer->level > 0 ? streamer->returns[--streamer->level] : 0;
}

/* Goes on at an address. A batch that firmware was to write is empty here, and would run on into whatever follows it in
 * the address space; so it ends with its object. */
static void go_to(struct streamer *streamer, uint64_t address)
{
    const struct i915_binding *binding = binding_at(streamer->batch, canonical(address));

    streamer->next = address;
    streamer->ends[streamer->level] = binding != NULL ? binding->address + binding->size : UINT64_MAX;
}

static void start_batch(struct streamer *streamer, const uint32_t *command)
{
    bool is_nested = command[0] & 1u << 22;

    if (is_nested && streamer->level < LEVELS)
        streamer->returns[streamer->level++] = streamer->next;
    go_to(streamer, address_in(command + 1) & ~3ull);
}

static void flush(const struct i915_batch *batch, const uint32_t *command)
{
    unsigned operation = command[0] >> 14 & 3;
    uint64_t address = address_in(command + 1) & ~7ull;

    if (operation == FLUSH_WRITES_IMMEDIATE)
        write_memory(batch, address, address_in(command + 3), 8);
    else if (operation == FLUSH_WRITES_TIME)
        write_memory(batch, address, i915_time_stamp(), 8);
}

static void run_memory_command(struct streamer *streamer, const uint32_t *command, unsigned length)
{
    const struct i915_batch *batch = streamer->batch;
    struct i915_engine *engine = batch->engine;

    switch (command[0] >> 23 & 0x3f) {
    case BATCH_BUFFER_END:
        leave_batch(streamer);
        break;
    case CONDITIONAL_BATCH_BUFFER_END:
        if (!goes_on(batch, command))
            leave_batch(streamer);
        break;
    case BATCH_BUFFER_START:
        start_batch(streamer, command);
        break;
    case STORE_DATA_IMMEDIATE: {
        bool is_wide = length >= 5;

        write_memory(batch, address_in(command + 1) & ~3ull, is_wide ? address_in(command + 3) : command[3],
                     is_wide ? 8 : 4);
        break;
    }
    case STORE_REGISTER_MEMORY:
        write_memory(batch, address_in(command + 2), i915_read_register(batch->node, engine, command[1]), 4);
        break;
    case LOAD_REGISTER_MEMORY:
        i915_write_register(engine, command[1], (uint32_t)read_memory(batch, address_in(command + 2), 4));
        break;
    case LOAD_REGISTER_REGISTER:
        i915_write_register(engine, command[2], i915_read_register(batch->node, engine, command[1]));
        break;
    case LOAD_REGISTER_IMMEDIATE:
        for (unsigned index = 1; index + 1 < length; index += 2)
            i915_write_register(engine, command[index], command[index + 1]);
        break;
    case COPY_MEMORY_MEMORY:
        write_memory(batch, address_in(command + 1), read_memory(batch, address_in(command + 3), 4), 4);
        break;
    case FLUSH:
        flush(batch, command);
        break;
    case ATOMIC:
        run_atomic(batch, command, length);
        break;
    case MATH:
        run_math(engine, command + 1, length - 1);
        break;
    }
}

/* The length of a command in dwords, from its header; 0 for what is none. */
static unsigned length_of(uint32_t header)
{
    unsigned opcode = header >> 23 & 0x3f;

    switch (header >> 29) {
    case 0: /* memory interface */
        if (opcode < FIRST_OPCODE_WITH_LENGTH)
            return 1;
        return (header & (opcode == FLUSH ? 0x3f : 0xff)) + 2; /* a flush has flags in bits 6 and 7 */
    case 2: /* copy engine */
        return (header & 0xff) + 2;
    case 3:
        switch (header >> 27 & 3) {
        case 1: /* of one dword */
            return 1;
        case 2: /* media */
            return (header & 0xfff) + 2;
        default:
            return (header & 0xff) + 2;
        }
    default:
        return 0;
    }
}

void i915_run_batch(const struct i915_batch *batch)
{
    struct streamer streamer = {.batch = batch};

    go_to(&streamer, batch->start);
    for (unsigned count = 0; streamer.next != 0 && count < MAXIMUM_COMMANDS; count++) {
        if (canonical(streamer.next) >= streamer.ends[streamer.level]) {
            leave_batch(&streamer);
            continue;
        }
        const uint32_t *command = (const void *)memory_at(batch, streamer.next, 4);
        unsigned length = command != NULL ? length_of(command[0]) : 0;

        if (length == 0 || memory_at(batch, streamer.next, 4 * length) == NULL) {
            trace("batch has no command at 0x%llx, level %u", (unsigned long long)streamer.next, streamer.level);
            leave_batch(&streamer);
            continue;
        }
        streamer.next += 4 * length;
        if (command[0] >> 29 == 0)
            run_memory_command(&streamer, command, length);
    }
}
