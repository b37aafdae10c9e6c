#!/bin/sh -e
# Create and delete servers of a group with the openstack command.
#
# openstack.sh member NAME IMAGE GROUP MEMBER
# openstack.sh group NAME IMAGE SUBGROUP
# openstack.sh delete NAME

case $1 in
member)
    openstack server create --wait "$2" --image "$3" --flavor m1.tiny --network private \
        --hint vrt_group="$4" --hint vrt_member="$5"
    ;;
group)
    openstack server create --wait "$2" --image "$3" --flavor m1.tiny --network private \
        --hint group="$4"
    ;;
delete)
    openstack server delete --wait "$2"
    ;;
esac
