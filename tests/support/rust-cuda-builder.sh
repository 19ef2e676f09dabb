#!/bin/sh
# A stand-in for gpu/rust-cuda's builder. How it behaves is the name that it is called by; tests make a link to it and
# put what it is to write into the folder `made` beside the link.
#
#   writes <out> <architecture>…    copies what is in `made` to <out>, and notes its arguments and environment there
#   idles  <out> <architecture>…    ends well and writes nothing
#   fails  <out> <architecture>…    complains and ends badly
here=$(dirname "$0")
out=$1
shift
case $(basename "$0") in
writes)
    cp "$here"/made/*.ptx "$out"
    echo "$*" >"$here/made/arguments"
    env >"$here/made/environment"
    ;;
idles) ;;
fails)
    echo "   Compiling something" >&2
    echo "error: the backend is not there" >&2
    exit 3
    ;;
*) exit 9 ;;
esac
