// Create and delete servers of a group with gophercloud.
//
//	gophercloud member NAME IMAGE GROUP MEMBER
//	gophercloud group NAME IMAGE SUBGROUP
//	gophercloud delete NAME
package main

import (
	"errors"
	"log"
	"os"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/schedulerhints"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/openstack/imageservice/v2/images"
)

const patience = 300 // seconds

func main() {
	log.SetFlags(0)
	auth, err := openstack.AuthOptionsFromEnv()
	check(err)
	cloud, err := openstack.AuthenticatedClient(auth)
	check(err)
	nova, err := openstack.NewComputeV2(cloud, gophercloud.EndpointOpts{})
	check(err)

	var hints schedulerhints.SchedulerHints
	switch os.Args[1] {
	case "member":
		hints.AdditionalProperties = map[string]interface{}{
			"vrt_group":  os.Args[4],
			"vrt_member": os.Args[5],
		}
	case "group":
		hints.Group = os.Args[4]
	case "delete":
		remove(nova, os.Args[2])
		return
	}
	create(nova, hints, servers.CreateOpts{
		Name:      os.Args[2],
		ImageRef:  imageID(cloud, os.Args[3]),
		FlavorRef: flavorID(nova, "m1.tiny"),
	})
}

func create(nova *gophercloud.ServiceClient, hints schedulerhints.SchedulerHints, server servers.CreateOpts) {
	created, err := servers.Create(nova, schedulerhints.CreateOptsExt{
		CreateOptsBuilder: server,
		SchedulerHints:    hints,
	}).Extract()
	check(err)
	check(gophercloud.WaitFor(patience, func() (bool, error) {
		now, err := servers.Get(nova, created.ID).Extract()
		if err == nil && now.Status == "ERROR" {
			err = errors.New(now.Fault.Message)
		}
		return err == nil && now.Status == "ACTIVE", err
	}))
}

func remove(nova *gophercloud.ServiceClient, name string) {
	// Nova takes the name for a regular expression.
	pages, err := servers.List(nova, servers.ListOpts{Name: "^" + name + "$"}).AllPages()
	check(err)
	found, err := servers.ExtractServers(pages)
	check(err)
	for _, server := range found {
		check(servers.Delete(nova, server.ID).ExtractErr())
		check(gophercloud.WaitFor(patience, func() (bool, error) {
			_, err := servers.Get(nova, server.ID).Extract()
			if _, isGone := err.(gophercloud.ErrDefault404); isGone {
				return true, nil
			}
			return false, err
		}))
	}
}

func imageID(cloud *gophercloud.ProviderClient, name string) string {
	glance, err := openstack.NewImageServiceV2(cloud, gophercloud.EndpointOpts{})
	check(err)
	pages, err := images.List(glance, images.ListOpts{Name: name}).AllPages()
	check(err)
	found, err := images.ExtractImages(pages)
	check(err)
	for _, image := range found {
		return image.ID
	}
	log.Fatalf("There is no image %s.", name)
	return ""
}

func flavorID(nova *gophercloud.ServiceClient, name string) string {
	pages, err := flavors.ListDetail(nova, nil).AllPages()
	check(err)
	found, err := flavors.ExtractFlavors(pages)
	check(err)
	for _, flavor := range found {
		if flavor.Name == name {
			return flavor.ID
		}
	}
	log.Fatalf("There is no flavor %s.", name)
	return ""
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
