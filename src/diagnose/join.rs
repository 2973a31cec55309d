//! Which thing of one target is which thing of another: guest device, VM adapter, port, switch, uplink, RDMA device,
//! PCI function.
