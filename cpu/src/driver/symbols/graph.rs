//! Graphs. `cust` refers to some of them.

use core::ffi::{c_char, c_uint, c_ulonglong};

use cust::sys::{CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType, CUstream};

use super::forward;

forward! {
    cuGraphCreate(ph_graph: *mut CUgraph, flags: c_uint);
    cuGraphAddKernelNode(
        ph_graph_node: *mut CUgraphNode, h_graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize,
        node_params: *const CUDA_KERNEL_NODE_PARAMS,
    );
    cuGraphKernelNodeGetParams(h_node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS);
    cuGraphNodeGetType(h_node: CUgraphNode, type_: *mut CUgraphNodeType);
    cuGraphGetNodes(h_graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize);
    cuGraphGetEdges(h_graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, num_edges: *mut usize);
    cuGraphInstantiateWithFlags(ph_graph_exec: *mut CUgraphExec, h_graph: CUgraph, flags: c_ulonglong);
    cuGraphLaunch(h_graph_exec: CUgraphExec, h_stream: CUstream);
    cuGraphExecDestroy(h_graph_exec: CUgraphExec);
    cuGraphDestroy(h_graph: CUgraph);
    cuGraphDebugDotPrint(h_graph: CUgraph, path: *const c_char, flags: c_uint);
}
