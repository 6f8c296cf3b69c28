package host_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
)

// Example runs a host in this program, with its data in a directory, and acquires a lock as its client.
func Example() {
	directory, err := os.MkdirTemp("", "embedded-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	if err := embed(directory); err != nil {
		log.Print(err)
	}
	// Output:
	// the host is ready
	// report is held
	// the host has stopped
}

func embed(directory string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	s := settings.Defaults()
	s.DataDir = directory
	s.Listen, s.AdminListen = "127.0.0.1:0", settings.Off
	s.AnyPort = true // for this example: a real host has a fixed port
	h, err := host.Start(host.Options{Settings: s})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.WaitReady(ctx); err != nil {
		return err
	}
	fmt.Println("the host is ready")

	c, err := client.Open(ctx, h.Addresses().Client)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CreateNode(ctx, "/jobs", client.NodeConfig{}); err != nil {
		return err
	}
	session, err := c.Session(ctx, "/jobs")
	if err != nil {
		return err
	}
	lease, err := session.Ephemeral("report").Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Println(lease.Name(), "is held")
	if err := lease.Release(ctx); err != nil {
		return err
	}
	if err := session.Close(ctx); err != nil {
		return err
	}
	c.Close()
	if err := h.Stop(ctx); err != nil {
		return err
	}
	fmt.Println("the host has stopped")
	return nil
}
