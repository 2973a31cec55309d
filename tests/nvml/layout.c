/* Prints the layouts of nvml_layout.h, `name size offset...`, for the test that compares them with the bindings. */
#include "nvml_layout.h"
#include <stddef.h>
#include <stdio.h>

#define AT(type, member) offsetof(type, member)

int main(void)
{
    printf("pci_info %zu %zu %zu %zu\n", sizeof(pci_info), AT(pci_info, domain), AT(pci_info, pci_subsystem_id),
           AT(pci_info, bus_id));
    printf("memory_v2 %zu %zu %zu %zu\n", sizeof(memory_v2), AT(memory_v2, total), AT(memory_v2, free),
           AT(memory_v2, used));
    printf("bar1_memory %zu %zu %zu\n", sizeof(bar1_memory), AT(bar1_memory, free), AT(bar1_memory, used));
    printf("utilization %zu %zu\n", sizeof(utilization), AT(utilization, memory));
    printf("process_info %zu %zu %zu %zu\n", sizeof(process_info), AT(process_info, used_memory),
           AT(process_info, gpu_instance), AT(process_info, compute_instance));
    printf("field_value %zu %zu %zu %zu %zu\n", sizeof(field_value), AT(field_value, timestamp),
           AT(field_value, value_type), AT(field_value, result), AT(field_value, value));
    printf("event_data %zu %zu %zu %zu\n", sizeof(event_data), AT(event_data, type), AT(event_data, data),
           AT(event_data, gpu_instance));
    printf("gpm_support %zu %zu\n", sizeof(gpm_support), AT(gpm_support, is_supported));
    printf("gpm_metric %zu %zu %zu\n", sizeof(gpm_metric), AT(gpm_metric, value), AT(gpm_metric, unit));
    printf("gpm_metrics %zu %zu %zu\n", sizeof(gpm_metrics), AT(gpm_metrics, sample1), AT(gpm_metrics, metrics));
    printf("memory_v2.version %u\n", STRUCTURE_VERSION(memory_v2, 2));
    return 0;
}
