# Sets up a Grid Engine in the folder $SGE_ROOT and becomes its qmaster. It runs in network,
# mount and host name namespaces of its own: Grid Engine listens on all interfaces and refuses
# a host whose name is that of the loopback interface.
set -eu
ip link set lo up
hostname gridengine
mount --bind "$SGE_ROOT/hosts" /etc/hosts
programs=/usr/lib/gridengine
export LD_LIBRARY_PATH=$programs
ln -s /usr/share/gridengine/util "$SGE_ROOT/util"
"$programs/spoolinit" classic libspoolc "$SGE_ROOT/default/common;$SGE_ROOT/qmaster" init
"$programs/spooldefaults" configuration "$SGE_ROOT/configuration"
"$programs/spooldefaults" complexes /usr/share/gridengine/util/resources/centry
"$programs/spooldefaults" usersets /usr/share/gridengine/util/resources/usersets
"$programs/spooldefaults" managers root
"$programs/spooldefaults" operators root
exec sge_qmaster
