variable "region" {
  type    = string
  default = "us-east-1"
}
variable "vpc" {
  type        = string
  description = "id of the network"
}
variable "subnet" {
  type        = string
  description = "id of the subnet of all machines"
}
variable "image" {
  type        = string
  description = "id of an image with systemd, such as Debian 12"
}
variable "user" {
  type        = string
  default     = "admin"
  description = "user of the image who may use sudo"
}
variable "key" {
  type        = string
  description = "name of the key for ssh"
}
variable "clients" {
  type        = list(string)
  description = "networks from which ssh and clients connect, such as [\"10.0.0.0/8\"]"
}
variable "workers" {
  type    = number
  default = 120
}
variable "frontends" {
  type    = number
  default = 10
}
variable "worker_type" {
  type    = string
  default = "m4.large" # as in the paper; newer types have other names
}
variable "frontend_type" {
  type    = string
  default = "m4.large"
}
variable "master_type" {
  type    = string
  default = "m4.large"
}
