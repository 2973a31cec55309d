/*
 * A stand-in for libnvidia-ml.so.1, for tests: GPUs that are not there, and calls that fail as they please.
 *
 * It does what the file beside it says: the library's own path with `.conf` behind it. That file is read again whenever it
 * changed, so GPUs fall off the bus and come back while they are watched. One setting a line:
 *
 *   gpus N            so many GPUs (default 1)
 *   driver VERSION    version of the driver (default 535.129.03)
 *   mig GPU N         this GPU is divided into N instances
 *   gpm 1             GPUs count how much of them works (Hopper and later)
 *   busy PERCENT      their use (default 87)
 *   replays N         the count of PCIe replays (default 0)
 *   xid GPU NUMBER    an event; told once each time the file changes
 *   call NAME MODE    what this call does, `*` for all but those that open and close the library
 *   gpu N MODE        what all calls for this GPU do
 *
 * MODE is the number of an NVML error, `short` (only the beginning of a structure is filled, as by an older driver; texts are empty), or `hang` (the
 * call does not return while the file says so). A call that is not named works.
 */
#define _GNU_SOURCE
#include "nvml_layout.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum { MOST_RULES = 64, MOST_GPUS = 32, MOST_INSTANCES = 8, SHORT = -1, HANG = -2 };

typedef struct {
    char call[64];
    int gpu; /* -1 for any */
    int mode;
} rule;

typedef struct {
    int gpus, gpm, busy, rules, xid_gpu, xid, xid_told;
    unsigned replays;
    int instances[MOST_GPUS];
    char driver[80];
    rule rule[MOST_RULES];
} settings;

static settings now;
static struct timespec read_at;
static ino_t read_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A handle points at its number: GPU, or GPU and instance. */
static struct { int gpu, instance; } handles[MOST_GPUS][MOST_INSTANCES + 1];

static int mode_of(const char *word)
{
    if (!strcmp(word, "short")) return SHORT;
    if (!strcmp(word, "hang")) return HANG;
    return atoi(word);
}

static void refresh(void)
{
    static char path[4096];
    Dl_info info;
    struct stat state;
    if (!path[0] && dladdr((void *)refresh, &info)) snprintf(path, sizeof path, "%s.conf", info.dli_fname);
    if (stat(path, &state)) return;
    /* Each version is a new file: times are too coarse for two of them in one moment. */
    if (state.st_ino == read_file && state.st_mtim.tv_sec == read_at.tv_sec && state.st_mtim.tv_nsec == read_at.tv_nsec) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    read_at = state.st_mtim;
    read_file = state.st_ino;
    settings next = {.gpus = 1, .busy = 87, .xid_gpu = -1, .driver = "535.129.03"};
    char line[256], word[64], mode[64];
    int gpu, number;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "gpus %d", &number) == 1) next.gpus = number;
        if (sscanf(line, "gpm %d", &number) == 1) next.gpm = number;
        if (sscanf(line, "busy %d", &number) == 1) next.busy = number;
        if (sscanf(line, "replays %d", &number) == 1) next.replays = (unsigned)number;
        sscanf(line, "driver %79s", next.driver);
        if (sscanf(line, "xid %d %d", &gpu, &number) == 2) next.xid_gpu = gpu, next.xid = number;
        if (sscanf(line, "mig %d %d", &gpu, &number) == 2 && gpu < MOST_GPUS) next.instances[gpu] = number;
        if (next.rules == MOST_RULES) continue;
        rule *rule = &next.rule[next.rules];
        if (sscanf(line, "call %63s %63s", word, mode) == 2) {
            strcpy(rule->call, word);
            rule->gpu = -1;
            rule->mode = mode_of(mode);
            next.rules++;
        } else if (sscanf(line, "gpu %d %63s", &gpu, mode) == 2) {
            strcpy(rule->call, "*");
            rule->gpu = gpu;
            rule->mode = mode_of(mode);
            next.rules++;
        }
    }
    fclose(file);
    now = next;
}

static int mode_for(const char *call, int gpu)
{
    int opens = !strcmp(call, "nvmlInit_v2") || !strcmp(call, "nvmlShutdown");
    for (int i = 0; i < now.rules; i++) {
        const rule *rule = &now.rule[i];
        int names = !strcmp(rule->call, call) || (!strcmp(rule->call, "*") && !opens);
        if (names && (rule->gpu < 0 || rule->gpu == gpu)) return rule->mode;
    }
    return SUCCESS;
}

/* What this call is to do; one that hangs does not come back before the file says something else. */
static int asked(const char *call, int gpu)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        refresh();
        int mode = mode_for(call, gpu);
        pthread_mutex_unlock(&lock);
        if (mode != HANG) return mode;
        usleep(5000);
    }
}

static int gpu_of(void *device) { return device ? *(int *)device : -1; }
static int instance_of(void *device) { return ((int *)device)[1]; }

#define ASK(device)                                      \
    int mode = asked(__func__, gpu_of(device));          \
    if (mode > 0) return mode

/* Fills an answer, or only what stands before one of its members, as a driver does that knows a shorter structure. */
#define FILL(out, whole, member) fill(out, &(whole), mode == SHORT ? offsetof(__typeof__(whole), member) : sizeof(whole))

static int fill(void *out, const void *whole, size_t size)
{
    memcpy(out, whole, size);
    return SUCCESS;
}

static int say(char *out, unsigned room, const char *text, int mode)
{
    snprintf(out, room, "%s", mode == SHORT ? "" : text);
    return SUCCESS;
}

#define NUMBER(name, value)                              \
    PUBLIC int name(void *device, unsigned *out)         \
    {                                                    \
        ASK(device);                                     \
        *out = (value);                                  \
        return SUCCESS;                                  \
    }

PUBLIC int nvmlInit_v2(void)
{
    for (int gpu = 0; gpu < MOST_GPUS; gpu++)
        for (int instance = 0; instance <= MOST_INSTANCES; instance++)
            handles[gpu][instance].gpu = gpu, handles[gpu][instance].instance = instance - 1;
    ASK(NULL);
    return SUCCESS;
}

PUBLIC int nvmlShutdown(void)
{
    ASK(NULL);
    return SUCCESS;
}

PUBLIC int nvmlSystemGetDriverVersion(char *out, unsigned room)
{
    ASK(NULL);
    return say(out, room, now.driver, mode);
}

PUBLIC int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    ASK(NULL);
    *out = mode == SHORT ? 0 : 12020;
    return SUCCESS;
}

PUBLIC int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned room)
{
    ASK(NULL);
    return say(out, room, pid == 4711 ? "/usr/bin/python3" : "/opt/nccl-tests/all_reduce_perf", mode);
}

PUBLIC int nvmlDeviceGetCount_v2(unsigned *out)
{
    ASK(NULL);
    *out = (unsigned)now.gpus;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    if (index >= (unsigned)now.gpus || index >= MOST_GPUS) return ERROR_INVALID_ARGUMENT;
    ASK(&handles[index][0]);
    *out = &handles[index][0];
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetPciInfo_v3(void *device, pci_info *out)
{
    ASK(device);
    int gpu = gpu_of(device);
    pci_info whole = {.domain = 0, .bus = 0x0b + (unsigned)gpu, .device = 0, .pci_device_id = 0x20b010de, .pci_subsystem_id = 0x144e10de};
    snprintf(whole.bus_id_legacy, sizeof whole.bus_id_legacy, "0000:%02X:00.0", whole.bus);
    snprintf(whole.bus_id, sizeof whole.bus_id, "00000000:%02X:00.0", whole.bus);
    return FILL(out, whole, bus_id);
}

PUBLIC int nvmlDeviceGetUUID(void *device, char *out, unsigned room)
{
    ASK(device);
    char text[96];
    int instance = instance_of(device);
    if (instance < 0)
        snprintf(text, sizeof text, "GPU-838f60d9-651f-9166-ea42-f9da674a694%x", gpu_of(device) & 15);
    else
        snprintf(text, sizeof text, "MIG-GPU-838f60d9-651f-9166-ea42-f9da674a694%x/%d/0", gpu_of(device) & 15, instance + 7);
    return say(out, room, text, mode);
}

PUBLIC int nvmlDeviceGetName(void *device, char *out, unsigned room)
{
    ASK(device);
    return say(out, room, instance_of(device) < 0 ? "NVIDIA A100-SXM4-40GB" : "NVIDIA A100-SXM4-40GB MIG 1g.5gb", mode);
}

PUBLIC int nvmlDeviceGetVbiosVersion(void *device, char *out, unsigned room)
{
    ASK(device);
    return say(out, room, "92.00.45.00.03", mode);
}

PUBLIC int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2 *out)
{
    ASK(device);
    if (out->version != STRUCTURE_VERSION(memory_v2, 2)) return ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned long long part = instance_of(device) < 0 ? 1 : 8, mebibyte = 1024 * 1024;
    memory_v2 whole = {out->version, 40960 * mebibyte / part, 512 * mebibyte / part, 9446 * mebibyte / part, 31002 * mebibyte / part};
    return FILL(out, whole, free);
}

PUBLIC int nvmlDeviceGetBAR1MemoryInfo(void *device, bar1_memory *out)
{
    ASK(device);
    bar1_memory whole = {65536ull << 20, 65535ull << 20, 1ull << 20};
    return FILL(out, whole, free);
}

PUBLIC int nvmlDeviceGetUtilizationRates(void *device, utilization *out)
{
    ASK(device);
    if (now.instances[gpu_of(device)]) return ERROR_NOT_SUPPORTED;
    utilization whole = {(unsigned)now.busy, 41};
    return FILL(out, whole, memory);
}

NUMBER(nvmlDeviceGetVirtualizationMode, 1)
NUMBER(nvmlDeviceGetComputeMode, 3)
NUMBER(nvmlDeviceGetPersistenceMode, 1)
NUMBER(nvmlDeviceGetPowerUsage, 287140)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 400000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, 400000)
NUMBER(nvmlDeviceGetPerformanceState, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 4)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 4)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, now.replays)
NUMBER(nvmlDeviceGetMinorNumber, 90u + (unsigned)gpu_of(device))
NUMBER(nvmlDeviceGetMaxMigDeviceCount, 7)

PUBLIC int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *lowest, unsigned *highest)
{
    ASK(device);
    *lowest = 100000;
    *highest = mode == SHORT ? 0 : 400000;
    return SUCCESS;
}

static int clock_of(unsigned kind, unsigned *out, unsigned sm, unsigned memory)
{
    *out = kind == 2 ? memory : sm;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *out)
{
    ASK(device);
    return clock_of(kind, out, 1335, 1215);
}

PUBLIC int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *out)
{
    ASK(device);
    return clock_of(kind, out, 1410, 1216);
}

PUBLIC int nvmlDeviceGetApplicationsClock(void *device, unsigned kind, unsigned *out)
{
    ASK(device);
    return clock_of(kind, out, 1095, 1215);
}

PUBLIC int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *out)
{
    (void)sensor;
    ASK(device);
    *out = 54 + (unsigned)gpu_of(device);
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetTemperatureThreshold(void *device, unsigned which, unsigned *out)
{
    ASK(device);
    *out = which == 0 ? 92 : 89;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out)
{
    ASK(device);
    *out = 4;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetPcieThroughput(void *device, unsigned way, unsigned *out)
{
    ASK(device);
    *out = way == 0 ? 2101344 : 8803341;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    ASK(device);
    *current = *pending = now.instances[gpu_of(device)] > 0;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetEccMode(void *device, unsigned *current, unsigned *pending)
{
    ASK(device);
    *current = *pending = 1;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetTotalEccErrors(void *device, unsigned kind, unsigned counter, unsigned long long *out)
{
    ASK(device);
    *out = kind * 2 + counter; /* corrected 0 and 1, uncorrected 2 and 3 */
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetFieldValues(void *device, int count, field_value *out)
{
    ASK(device);
    for (int i = 0; i < count; i++) {
        field_value one = {.id = out[i].id, .timestamp = 1764547200000000, .latency = 10, .value_type = VALUE_UNSIGNED_INT};
        switch (out[i].id) {
        case 29: one.value.as_unsigned = 5; break;  /* pages retired, single bit */
        case 30: one.value.as_unsigned = 6; break;  /* double bit */
        case 31: one.value.as_unsigned = 1; break;  /* retirement pending */
        case 82: one.value.as_unsigned = 61; break; /* memory temperature */
        case 90: one.value.as_unsigned = 25781; break;
        case 91: one.value.as_unsigned = 12; break;
        case 142: one.value.as_unsigned = 3; break; /* rows remapped */
        case 143: one.value.as_unsigned = 4; break;
        case 144: one.value.as_unsigned = 1; break; /* remap pending */
        case 145: one.value.as_unsigned = 0; break;
        case 230: one.value.as_unsigned = 1; break; /* reset the GPU */
        default: one.result = ERROR_NOT_SUPPORTED;
        }
        /* A driver that fills less leaves type and value as they were: the double 0.0. */
        FILL(&out[i], one, value_type);
    }
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *out)
{
    ASK(device);
    *out = link != 11; /* the last one is down */
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetNvLinkErrorCounter(void *device, unsigned link, unsigned which, unsigned long long *out)
{
    ASK(device);
    *out = link == 2 && which == 0 ? 17 : 0;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process_info *out)
{
    ASK(device);
    unsigned room = *count;
    *count = 2;
    if (room < 2) return ERROR_INSUFFICIENT_SIZE;
    process_info all[2] = {{4711, 30000ull << 20, ~0u, ~0u}, {4712, ~0ull, ~0u, ~0u}};
    for (int i = 0; i < 2; i++) FILL(&out[i], all[i], used_memory);
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out)
{
    ASK(device);
    int gpu = gpu_of(device);
    if (index >= (unsigned)now.instances[gpu]) return ERROR_NOT_FOUND;
    *out = &handles[gpu][index + 1];
    return SUCCESS;
}

PUBLIC int nvmlGpmQueryDeviceSupport(void *device, gpm_support *out)
{
    ASK(device);
    gpm_support whole = {out->version, (unsigned)now.gpm};
    return FILL(out, whole, is_supported);
}

PUBLIC int nvmlGpmSampleAlloc(void **out)
{
    ASK(NULL);
    *out = calloc(1, 64);
    return SUCCESS;
}

PUBLIC int nvmlGpmSampleFree(void *sample)
{
    free(sample);
    return SUCCESS;
}

PUBLIC int nvmlGpmSampleGet(void *device, void *sample)
{
    (void)sample;
    ASK(device);
    return SUCCESS;
}

PUBLIC int nvmlGpmMigSampleGet(void *device, unsigned instance, void *sample)
{
    (void)instance;
    (void)sample;
    ASK(device);
    return SUCCESS;
}

PUBLIC int nvmlGpmMetricsGet(gpm_metrics *request)
{
    ASK(NULL);
    for (unsigned i = 0; i < request->count; i++) {
        gpm_metric *metric = &request->metrics[i];
        metric->value = metric->id >= 20 ? 1000.0 : 64.3; /* MiB a second, or percent */
        metric->result = metric->id == 5 ? ERROR_NOT_SUPPORTED : SUCCESS;
    }
    return SUCCESS;
}

PUBLIC int nvmlEventSetCreate(void **out)
{
    ASK(NULL);
    *out = calloc(1, 64);
    return SUCCESS;
}

PUBLIC int nvmlEventSetFree(void *set)
{
    free(set);
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *out)
{
    ASK(device);
    *out = 8;
    return SUCCESS;
}

PUBLIC int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    (void)types;
    (void)set;
    ASK(device);
    return SUCCESS;
}

PUBLIC int nvmlEventSetWait_v2(void *set, event_data *out, unsigned milliseconds)
{
    (void)set;
    for (unsigned waited = 0;; waited += 100) {
        ASK(NULL);
        pthread_mutex_lock(&lock);
        int gpu = now.xid_gpu, xid = now.xid;
        now.xid_gpu = -1;
        pthread_mutex_unlock(&lock);
        if (gpu >= 0) {
            *out = (event_data){&handles[gpu][0], 8, (unsigned long long)xid, ~0u, ~0u};
            return SUCCESS;
        }
        if (waited >= milliseconds) return ERROR_TIMEOUT;
        usleep(100000); /* The real one sleeps in the driver: looking more often would be a cost that it has not. */
    }
}
