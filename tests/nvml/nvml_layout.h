/*
 * What of NVML's interface the stand-in library needs, by name, layout and number. Its layouts are compared with the
 * bindings that the program uses (see layout.c), so that a slip here fails a test and does not mislead one.
 */
#ifndef NVML_LAYOUT_H
#define NVML_LAYOUT_H

enum {
    SUCCESS = 0,
    ERROR_INVALID_ARGUMENT = 2,
    ERROR_NOT_SUPPORTED = 3,
    ERROR_NOT_FOUND = 6,
    ERROR_INSUFFICIENT_SIZE = 7,
    ERROR_TIMEOUT = 10,
    ERROR_GPU_IS_LOST = 15,
    ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    ERROR_UNKNOWN = 999
};

enum { VALUE_DOUBLE = 0, VALUE_UNSIGNED_INT = 1, VALUE_UNSIGNED_LONG_LONG = 3 };

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} pci_info;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_v2;

typedef struct {
    unsigned long long total, free, used;
} bar1_memory;

typedef struct {
    unsigned gpu, memory;
} utilization;

typedef struct {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
} process_info;

typedef union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_long;
} field_union;

typedef struct {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned value_type, result;
    field_union value;
} field_value;

typedef struct {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} event_data;

typedef struct {
    unsigned version, is_supported;
} gpm_support;

typedef struct {
    unsigned id, result;
    double value;
    char *short_name, *long_name, *unit;
} gpm_metric;

typedef struct {
    unsigned version, count;
    void *sample1, *sample2;
    gpm_metric metrics[210];
} gpm_metrics;

/* The version of a structure as NVML has it: its size, and its number in the highest byte. */
#define STRUCTURE_VERSION(type, number) ((unsigned)(sizeof(type) | ((unsigned)(number) << 24)))

#endif
