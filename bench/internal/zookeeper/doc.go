// Package zookeeper runs ZooKeeper servers from the distribution's package as processes, and drives the servers with
// the Go client github.com/go-zookeeper/zk and its lock recipe. (ZooKeeper's own clients are for Java and C.)
package zookeeper
