# The machines of the paper's EC2 experiment: 120 workers of one slot in 3 groups, 10 frontends,
# 3 masters, and a host inventory for 'pigeon cluster plan'. The machines are reached by their private
# addresses: run both from inside the network, or by a jump host in ~/.ssh/config.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
    local = {
      source  = "hashicorp/local"
      version = "~> 2.0"
    }
  }
}

provider "aws" {
  region = var.region
}

locals {
  groups = 3
  hosts = merge(
    { for g in range(local.groups) : "master-${g}" => { type = var.master_type, role = "master", group = g } },
    { for i in range(var.frontends) : format("frontend-%02d", i) => { type = var.frontend_type, role = "frontend", group = 0 } },
    { for i in range(var.workers) : format("worker-%03d", i) => { type = var.worker_type, role = "node", group = i % local.groups } },
  )
}

resource "aws_security_group" "pigeon" {
  name_prefix = "pigeon-"
  description = "Daemons of Pigeon among each other, ssh and clients from the given addresses"
  vpc_id      = var.vpc

  ingress {
    description = "daemons among each other"
    from_port   = 0
    to_port     = 65535
    protocol    = "tcp"
    self        = true
  }
  dynamic "ingress" {
    for_each = { ssh = 22, clients = 20503 }
    content {
      description = ingress.key
      from_port   = ingress.value
      to_port     = ingress.value
      protocol    = "tcp"
      cidr_blocks = var.clients
    }
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_instance" "host" {
  for_each               = local.hosts
  ami                    = var.image
  instance_type          = each.value.type
  subnet_id              = var.subnet
  key_name               = var.key
  vpc_security_group_ids = [aws_security_group.pigeon.id]
  metadata_options {
    http_tokens = "required" # tasks must not read the machine's own credentials by version 1
  }
  root_block_device {
    encrypted = true
  }
  tags = { Name = "pigeon-${each.key}" }
}

resource "local_file" "inventory" {
  filename        = "${path.root}/inventory.yaml"
  file_permission = "0644"
  content = yamlencode({
    cluster  = "pigeon"
    ssh      = { user = var.user, sudo = true }
    settings = { all = { cutoff = "1s", reserved = 0.1 } }
    hosts = concat(
      [for name, h in local.hosts : {
        name    = name
        address = aws_instance.host[name].private_ip
        roles   = h.role == "master" && h.group == 0 ? ["nats", "master"] : [h.role]
      } if h.role == "frontend" || (h.role == "master" && h.group == 0)],
      [for name, h in local.hosts : {
        name    = name
        address = aws_instance.host[name].private_ip
        roles   = ["master"]
        group   = h.group
      } if h.role == "master" && h.group != 0],
      [for name, h in local.hosts : {
        name    = name
        address = aws_instance.host[name].private_ip
        roles   = ["node"]
        group   = h.group
        slots   = 1
      } if h.role == "node"],
    )
  })
}

output "inventory" {
  value = local_file.inventory.filename
}
